// What a run finds, says and leaves. How it is stopped: stop_test.cpp; what survives:
// adopt_test.cpp.
#include "live/engine/local/local_engine.h"

#include <gmock/gmock.h>

#include <fstream>

#include "live/engine/local/supervisor_link.h"
#include "live/engine/local/testing.h"
#include "live/system/held_port.h"

namespace trainyard {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST_F(LocalEngineTest, AGangFindsItsPlaceAndEndsWithItsFirstFailure) {
  JobSpec spec = shell(
      "echo $RANK/$WORLD_SIZE $LOCAL_RANK/$LOCAL_WORLD_SIZE $SLURM_PROCID/$SLURM_NTASKS "
      "gpus=$CUDA_VISIBLE_DEVICES user=$MINE run=$TRAINYARD_RUN "
      "restart=${TRAINYARD_RESTART-unset}; [ $RANK = 0 ] && { : > $DONE; exit 0; }; until [ -e "
      "$DONE ]; do sleep 0.01; done; exit 3");
  spec.workers = 2;
  spec.environment = {
      {"MINE", "my value"}, {"RANK", "77"}, {"TRAINYARD_RESTART", "5"}, {"DONE", root_ + "/done"}};
  begin(launch({7, 1}, spec));
  EXPECT_EQ(wait_for(Kind::started, {7, 1}).id, (RunId{7, 1}));
  const RunReport end = wait_for_end({7, 1});
  EXPECT_EQ(end.kind, Kind::exited);
  EXPECT_EQ(end.exit_status, 3);
  EXPECT_EQ(end.why, "worker 1: exit status 3");
  EXPECT_FALSE(end.asked_requeue);
  EXPECT_EQ(output({7, 1}, 0), "0/2 0/2 0/2 gpus=1,2 user=my value run=1 restart=unset\n");
  EXPECT_EQ(output({7, 1}, 1), "1/2 1/2 1/2 gpus=3,4 user=my value run=1 restart=unset\n");
}

/// Runs side by side never share MASTER_PORT, and a port is not free before its run has ended,
/// whatever becomes of the daemon.
TEST_F(LocalEngineTest, ARunHoldsItsPort) {
  const JobSpec spec = shell("echo $MASTER_PORT $PET_MASTER_PORT; until [ -e " + root_ +
                             "/done.$TRAINYARD_JOB_ID ]; do sleep 0.01; done");
  start({1, 1}, spec);
  start({1 + kJobPorts, 1}, spec);  // prefers the same port
  const int first = read_plan(directory({1, 1})).value().master_port;
  const int second = read_plan(directory({1 + kJobPorts, 1})).value().master_port;
  EXPECT_NE(first, second);
  reopen();
  ASSERT_TRUE(engine_->adopt({1, 1}));
  ASSERT_TRUE(engine_->adopt({1 + kJobPorts, 1}));
  for (const int port : {first, second})
    EXPECT_NE(hold_port(port - kFirstJobPort).value().number, port) << "its supervisor holds it";
  for (const JobNumber job : {1, 1 + kJobPorts}) {
    std::ofstream(fmt::format("{}/done.{}", root_, job)) << "now";
    EXPECT_EQ(wait_for_end({job, 1}).exit_status, 0);
  }
  EXPECT_EQ(output({1, 1}), fmt::format("{0} {0}\n", first));
}

TEST_F(LocalEngineTest, AnElasticJobHasTheWorkersThatItIsLaunchedWith) {
  JobSpec spec = shell("echo $RANK/$WORLD_SIZE $SLURM_PROCID/$SLURM_NTASKS");
  spec.workers = 1, spec.max_workers = 4;
  Launch two = launch({7, 1}, spec);
  two.workers.push_back({.gpus = {5, 6}});
  begin(two);
  EXPECT_EQ(wait_for_end({7, 1}).exit_status, 0);
  EXPECT_EQ(output({7, 1}, 0), "0/2 0/2\n");
  EXPECT_EQ(output({7, 1}, 1), "1/2 1/2\n");
}

TEST_F(LocalEngineTest, ARestartIsTold) {
  const JobSpec spec = shell("echo $TRAINYARD_RESTART $SLURM_RESTART_COUNT $TRAINYARD_RUN");
  Launch again = launch({7, 2}, spec);
  again.restarts = 1;
  begin(again);
  EXPECT_EQ(wait_for_end({7, 2}).exit_status, 0);
  EXPECT_EQ(output({7, 2}), "1 1 2\n");
}

TEST_F(LocalEngineTest, AScriptRunsWithItsArgumentsInItsDirectory) {
  JobSpec spec;
  spec.script = "#!/bin/sh\necho \"$PWD:$1:$2\"; echo to stderr >&2; cat\n";
  spec.command = {"a b", "c"};
  spec.directory = "/usr/lib";
  EXPECT_EQ(run({1, 1}, spec).exit_status, 0);
  EXPECT_EQ(output({1, 1}), "/usr/lib:a b:c\nto stderr\n");
}

TEST_F(LocalEngineTest, WhatCannotBeRunIsRefusedWithAReason) {
  JobSpec no_command = shell("");
  no_command.command = {"no-such-command-of-anybody"};
  RunReport end = run({1, 1}, no_command);
  EXPECT_EQ(end.kind, Kind::refused);
  EXPECT_EQ(end.why, "'no-such-command-of-anybody': there is no such command in the job's PATH");

  JobSpec no_directory = shell("true");
  no_directory.directory = "/no/such/directory";
  end = run({2, 1}, no_directory);
  EXPECT_EQ(end.kind, Kind::refused);
  EXPECT_THAT(end.why, HasSubstr("the directory '/no/such/directory' cannot be entered by user"));
  EXPECT_THAT(end.why, HasSubstr("No such file or directory"));

  JobSpec no_interpreter;
  no_interpreter.script = "#!/usr/bin/no-such-interpreter\n";
  end = run({3, 1}, no_interpreter);
  EXPECT_EQ(end.kind, Kind::refused);
  EXPECT_THAT(end.why, HasSubstr("its first line is '#!/usr/bin/no-such-interpreter'"));
}

TEST_F(LocalEngineTest, ARunIsStartedOnceOnly) {
  const JobSpec spec = shell("echo once");
  EXPECT_EQ(run({1, 1}, spec).kind, Kind::exited);
  const auto again = engine_->start(launch({1, 1}, spec));
  ASSERT_FALSE(again);
  EXPECT_THAT(again.error().message, HasSubstr("run 1 of job 1 was begun before"));
  engine_->forget({1, 1});
  EXPECT_FALSE(engine_->start(launch({1, 1}, spec)));
  EXPECT_EQ(output({1, 1}), "once\n") << "the output stays";
}

TEST_F(LocalEngineTest, AJobCanAskToBeRunAgain) {
  EXPECT_TRUE(run({1, 1}, shell(": > $TRAINYARD_REQUEUE_FILE")).asked_requeue);
  EXPECT_TRUE(run({2, 1}, shell("scontrol requeue $SLURM_JOB_ID; exit 255")).asked_requeue);
  EXPECT_FALSE(run({3, 1}, shell("mkdir $TRAINYARD_REQUEUE_FILE")).asked_requeue);
  EXPECT_FALSE(run({4, 1}, shell("ln -s /etc/passwd $TRAINYARD_REQUEUE_FILE")).asked_requeue);
  // Slurm's word ends the run; our own waits until it has ended.
  EXPECT_TRUE(run({6, 1}, shell("scontrol requeue $SLURM_JOB_ID; sleep 1000")).asked_requeue);
  run({7, 1}, shell(": > $TRAINYARD_REQUEUE_FILE; sleep 0.2; echo went on"));
  EXPECT_EQ(output({7, 1}), "went on\n");
  const RunReport other = run({5, 1}, shell("scontrol requeue 1"));
  EXPECT_FALSE(other.asked_requeue) << "of another job";
  EXPECT_EQ(other.exit_status, 1);
  EXPECT_THAT(output({5, 1}), HasSubstr("this is job 5, not 1"));
}

TEST_F(LocalEngineTest, ScontrolKnowsTheMachineAndRefusesTheRest) {
  run({1, 1}, shell("scontrol show hostnames $SLURM_JOB_NODELIST; scontrol update x=y || echo no"));
  EXPECT_THAT(output({1, 1}), testing::StartsWith(host_name() + "\n"));
  EXPECT_THAT(output({1, 1}), HasSubstr("'update' is not known"));
  EXPECT_THAT(output({1, 1}), testing::EndsWith("no\n"));
}

TEST_F(LocalEngineTest, ProgressIsHeardAsItIsTold) {
  start({1, 1}, shell("echo '{\"step\": 1}' > $TRAINYARD_REPORT; read x < /dev/zero & "
                      "while [ ! -e $TRAINYARD_STOP_FILE ]; do sleep 0.05; done; "
                      "echo '{\"step\": 20, \"loss\": 0.5}' > $TRAINYARD_REPORT"));
  EXPECT_EQ(wait_for(Kind::progress, {1, 1}).progress.step, 1);
  stop({1, 1}, SIGCONT, seconds(20));
  const RunReport last = wait_for(Kind::progress, {1, 1});
  EXPECT_EQ(last.progress.step, 20) << "also what it told at its end";
  EXPECT_EQ(last.progress.loss, 0.5);
}

TEST_F(LocalEngineTest, CheckpointsAreKeptFromRunToRunAndErasedByNothingElse) {
  const JobSpec spec =
      shell("cd $TRAINYARD_CHECKPOINT_DIR; cat saved; echo $TRAINYARD_RUN > saved");
  run({9, 1}, spec);
  run({9, 2}, spec);
  EXPECT_EQ(output({9, 2}), "1\n");
  run({10, 1}, shell("true"));
  ASSERT_TRUE(engine_->erase_output(9, 2));
  ASSERT_TRUE(engine_->erase_output(10, 1));
  engine_->finish_erasing();
  EXPECT_FALSE(engine_->output({9, 2}, 0, 0, 100));
  EXPECT_TRUE(std::filesystem::exists(checkpoints(9) + "/saved"));
  EXPECT_FALSE(std::filesystem::exists(checkpoints(10))) << "it is empty";
  ASSERT_TRUE(engine_->erase_checkpoints(9));
  engine_->finish_erasing();
  const std::string own = fmt::format("/u{}/jobs", ::geteuid());
  for (const std::string& name : {"/runs" + own, "/checkpoints" + own, std::string("/trash")})
    EXPECT_TRUE(std::filesystem::is_empty(state_ + name)) << name;
}

/// Also where the journal was lost, and nobody knows that there was an earlier one.
TEST_F(LocalEngineTest, OnlyTheFirstRunBeginsAFileAnew) {
  JobSpec spec = shell("echo run $TRAINYARD_RUN");
  spec.directory = state_;
  spec.output = "out.%j";
  std::ofstream(state_ + "/out.9") << "of another job\n";
  run({9, 1}, spec);
  run({9, 2}, spec);
  std::ifstream file(state_ + "/out.9");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  EXPECT_EQ(text, "run 1\nrun 2\n");
}

TEST_F(LocalEngineTest, NothingOfTheUsersEnvironmentReachesTheSupervisor) {
  JobSpec spec = shell("echo pid=$PPID=; sleep 100");
  spec.environment = {{"LD_PRELOAD", "/tmp/evil.so"}, {"IFS", "x"}, {"BASH_ENV", "/tmp/evil"}};
  start({1, 1}, spec);
  ASSERT_TRUE(printed({1, 1}, "=\n"));
  const std::string text = output({1, 1});  // the loader complains of the preload in it
  const std::size_t begin = text.find("pid=") + 4;
  const std::string process = "/proc/" + text.substr(begin, text.find('=', begin) - begin);
  ASSERT_EQ(std::filesystem::read_symlink(process + "/exe").filename(), "trainyard-supervisor");
  EXPECT_EQ(read_small_file(process + "/environ").value(), "");
  for (const auto& entry : std::filesystem::directory_iterator(process + "/fd")) {
    const std::string file = std::filesystem::read_symlink(entry);
    if (!file.starts_with("/")) continue;
    EXPECT_THAT(file, testing::AnyOf("/dev/null", HasSubstr(state_)));
  }
}

}  // namespace
}  // namespace trainyard
