// How a run is stopped, and that nothing is ever left of it.
#include <gmock/gmock.h>

#include <csignal>
#include <fstream>

#include "live/engine/local/testing.h"

namespace trainyard {
namespace {

using testing::HasSubstr;
using testing::Not;

class LocalEngineStop : public LocalEngineBothWays {};
INSTANTIATE_TEST_SUITE_P(, LocalEngineStop, testing::Bool(), way_name);

/// Runs `on_signal` when it gets one, and waits for it in a child of its own.
std::string trapping(const std::string& signal, const std::string& on_signal) {
  return "trap '" + on_signal + "' " + signal + "; echo ready; while :; do sleep 0.05; done";
}

TEST_P(LocalEngineStop, BySigtermWhenNothingWasDeclared) {
  start({1, 1}, shell(trapping("TERM", "echo saving; exit 7")));
  ASSERT_TRUE(printed({1, 1}, "ready"));
  stop({1, 1}, 0, seconds(20));
  const RunReport end = wait_for_end({1, 1});
  EXPECT_EQ(end.kind, Kind::exited);
  EXPECT_EQ(end.exit_status, 7);
  EXPECT_THAT(output({1, 1}), HasSubstr("saving"));
}

TEST_P(LocalEngineStop, TheDeclaredSignalGoesToTheWholeGroup) {
  start({1, 1}, shell("trap 'echo parent; wait; exit 0' USR1; "
                      "(trap 'echo child; exit 0' USR1; echo ready; "
                      "while :; do sleep 0.05; done) & while :; do sleep 0.05; done"));
  ASSERT_TRUE(printed({1, 1}, "ready"));
  stop({1, 1}, SIGUSR1, seconds(20));
  EXPECT_EQ(wait_for_end({1, 1}).exit_status, 0);
  EXPECT_THAT(output({1, 1}), HasSubstr("parent"));
  EXPECT_THAT(output({1, 1}), HasSubstr("child"));
}

TEST_P(LocalEngineStop, OrToTheFirstProcessOnly) {
  start({1, 1}, shell("trap 'echo parent; kill $child; exit 0' USR1; "
                      "(trap 'echo child' USR1; echo ready; while :; do sleep 0.05; done) & "
                      "child=$!; while :; do sleep 0.05; done"));
  ASSERT_TRUE(printed({1, 1}, "ready"));
  stop({1, 1}, SIGUSR1, seconds(20), seconds(1), true);
  EXPECT_EQ(wait_for_end({1, 1}).exit_status, 0);
  EXPECT_THAT(output({1, 1}), HasSubstr("parent"));
  EXPECT_THAT(output({1, 1}), Not(HasSubstr("child")));
}

TEST_P(LocalEngineStop, TheGraceEndsWithSigtermThenSigkill) {
  start({1, 1}, shell("trap 'echo usr1' USR1; trap 'echo term' TERM; echo ready; "
                      "while :; do sleep 0.02; done"));
  ASSERT_TRUE(printed({1, 1}, "ready"));
  stop({1, 1}, SIGUSR1, microseconds(300'000), microseconds(300'000));
  const RunReport end = wait_for_end({1, 1});
  EXPECT_EQ(end.exit_status, 128 + SIGKILL);
  EXPECT_EQ(end.why, "killed by signal 9 (SIGKILL)");
  // Between them the shell may tell of the death of its sleep.
  EXPECT_THAT(output({1, 1}), testing::ContainsRegex("ready\n(.*\n)?usr1\n(.*\n)?term\n"));
}

TEST_P(LocalEngineStop, ASecondStopShortensTheFirst) {
  start({1, 1}, shell(trapping("TERM USR1", "")));
  ASSERT_TRUE(printed({1, 1}, "ready"));
  stop({1, 1}, SIGUSR1, hours(1));
  stop({1, 1}, 0, microseconds(100'000));
  EXPECT_EQ(wait_for_end({1, 1}).exit_status, 128 + SIGKILL);
}

TEST_P(LocalEngineStop, AStopRightAfterTheStartIsNotLost) {
  for (std::int32_t job = 1; job <= 10; ++job) {
    const JobSpec spec = shell("sleep 1000");
    begin(launch({job, 1}, spec));
    stop({job, 1}, 0, seconds(10));
    EXPECT_EQ(wait_for_end({job, 1}).exit_status, 128 + SIGTERM);
  }
}

TEST_P(LocalEngineStop, AStoppedProcessIsWokenToSave) {
  const std::string file = root_ + "/pid";
  start({1, 1}, shell("trap 'echo saving; exit 0' TERM; echo $$ > " + file +
                      "; kill -STOP $$; while :; do sleep 0.05; done"));
  ASSERT_TRUE(eventually([&] {
    const int pid = std::atoi(read_small_file(file).value_or("").c_str());
    const auto status = read_small_file("/proc/" + std::to_string(pid) + "/status");
    return status.value_or("").find("State:\tT") != std::string::npos;
  }));
  stop({1, 1}, 0, seconds(20));
  EXPECT_EQ(wait_for_end({1, 1}).exit_status, 0);
  EXPECT_THAT(output({1, 1}), HasSubstr("saving"));
}

TEST_P(LocalEngineStop, AShellThatDiesDoesNotEndTheGraceOfWhatItStarted) {
  // The shell has no trap and dies of SIGTERM; its child needs a while to save.
  start({1, 1},
        shell("(trap 'sleep 0.5; echo saved > $TRAINYARD_CHECKPOINT_DIR/model; exit 0' TERM;"
              " echo ready; while :; do sleep 0.05; done) & wait"));
  ASSERT_TRUE(printed({1, 1}, "ready"));
  stop({1, 1}, 0, seconds(20));
  EXPECT_EQ(wait_for_end({1, 1}).exit_status, 128 + SIGTERM);
  EXPECT_TRUE(std::filesystem::exists(checkpoints(1) + "/model"));
}

TEST_P(LocalEngineStop, AfterItsShellDiedAGroupIsStillTerminated) {
  start({1, 1}, shell("(trap '' USR1; trap 'echo terminated; exit 0' TERM; echo ready; "
                      "while :; do sleep 0.05; done) & wait"));
  ASSERT_TRUE(printed({1, 1}, "ready"));
  stop({1, 1}, SIGUSR1, microseconds(300'000), seconds(20));
  EXPECT_EQ(wait_for_end({1, 1}).exit_status, 128 + SIGUSR1);
  EXPECT_THAT(output({1, 1}), HasSubstr("terminated"));
}

TEST_P(LocalEngineStop, WhatIsLeftAfterAnEndIsKilled) {
  const RunReport end = run({1, 1}, shell("sleep 1000 & (setsid sleep 1001 &) ; "
                                          "setsid sh -c 'trap \"\" TERM HUP; sleep 1002 & "
                                          "sleep 1003' & exit 4"));
  EXPECT_EQ(end.exit_status, 4);
  EXPECT_EQ(left_of({1, 1}), 0U) << "when its end is reported";
}

TEST_P(LocalEngineStop, EscapedProcessesAreKilledEvenWithAnEnvironmentOfTheirOwn) {
  const std::string file = root_ + "/pid";
  start({1, 1}, shell("(setsid env -i /bin/sh -c 'trap \"\" TERM USR1 HUP INT; echo $$ > " + file +
                      "; while :; do sleep 0.02; done' &) ; sleep 1000"));
  const auto pid = [&] { return std::atoi(read_small_file(file).value_or("").c_str()); };
  ASSERT_TRUE(eventually([&] { return pid() > 0; }));
  EXPECT_EQ(::kill(pid(), 0), 0);
  stop({1, 1}, 0, microseconds(200'000));
  EXPECT_EQ(wait_for_end({1, 1}).kind, Kind::exited);
  EXPECT_EQ(::kill(pid(), 0), -1) << "it is gone when the end is reported";
}

TEST_P(LocalEngineStop, RunningFromProcessToProcessDoesNotHelp) {
  // Each of these forks the next, in a session of its own, and ends.
  const std::string hop = root_ + "/hop";
  std::ofstream(hop) << "#!/bin/sh\ntrap '' TERM\nsleep 0.01\nsetsid " << hop << " &\n";
  ::chmod(hop.c_str(), 0755);
  start({1, 1}, shell("for i in 1 2 3 4 5 6 7 8; do " + hop + " & done; echo ready; sleep 1000"));
  ASSERT_TRUE(printed({1, 1}, "ready"));
  stop({1, 1}, 0, microseconds(200'000));
  EXPECT_EQ(wait_for_end({1, 1}).kind, Kind::exited);
  EXPECT_EQ(left_of({1, 1}), 0U);
}

TEST_P(LocalEngineStop, WhenOneWorkerFailsTheOthersLeave) {
  JobSpec spec = shell(
      "[ $RANK = 1 ] && { sleep 0.1; exit 9; }; "
      "trap 'echo leaving; exit 0' TERM; while :; do sleep 0.05; done");
  spec.workers = 3;
  const RunReport end = run({1, 1}, spec);
  EXPECT_EQ(end.exit_status, 9);
  EXPECT_EQ(end.why, "worker 1: exit status 9");
  EXPECT_THAT(output({1, 1}, 0), testing::EndsWith("leaving\n"));
  EXPECT_THAT(output({1, 1}, 2), testing::EndsWith("leaving\n"));
}

TEST_P(LocalEngineStop, OneWorkerThatIsDoneDoesNotEndTheOthers) {
  JobSpec spec = shell("[ $RANK = 0 ] && exit 0; sleep 0.3; echo done");
  spec.workers = 2;
  EXPECT_EQ(run({1, 1}, spec).exit_status, 0);
  EXPECT_EQ(output({1, 1}, 1), "done\n");
}

TEST_P(LocalEngineStop, TheStopFileIsThereForTheJobToSee) {
  start({1, 1}, shell("trap '' USR1; echo ready; while [ ! -e $TRAINYARD_STOP_FILE ]; do "
                      "sleep 0.02; done; cat $TRAINYARD_STOP_FILE"));
  ASSERT_TRUE(printed({1, 1}, "ready"));
  stop({1, 1}, SIGUSR1, seconds(20));
  EXPECT_EQ(wait_for_end({1, 1}).exit_status, 0);
  EXPECT_THAT(output({1, 1}), HasSubstr("\"grace_ms\":20000"));
}

TEST_P(LocalEngineStop, StoppingWhatHasEndedIsNothing) {
  run({1, 1}, shell("true"));
  stop({1, 1}, 0, {});
  EXPECT_TRUE(engine_->stop({.id = {99, 1}, .signal = {}, .grace = {}}));
}

}  // namespace
}  // namespace trainyard
