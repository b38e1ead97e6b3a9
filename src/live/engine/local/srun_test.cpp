// srun in scripts that run once, with real processes.
#include <gmock/gmock.h>

#include <csignal>

#include "live/engine/local/testing.h"

namespace trainyard {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;
using testing::UnorderedElementsAre;

class SrunTest : public LocalEngineTest {
 protected:
  /// A script that runs once, for so many tasks of two GPUs each.
  JobSpec script(std::int32_t tasks, const std::string& text,
                 const std::string& shell = "#!/bin/bash") const {
    JobSpec spec;
    spec.directory = root_;
    spec.name = "test";
    spec.script = shell + "\n" + text + "\n";
    spec.runs_once = true;
    spec.workers = tasks;
    spec.per_worker.gpus = 2;
    spec.environment = {{"PATH", "/usr/bin:/bin"}, {"HOME", "/nonexistent"}};
    return spec;
  }

  std::string printed_by(const JobSpec& spec, int status = 0) {
    const RunId id{++last_, 1};
    const RunReport end = run(id, spec);
    EXPECT_EQ(end.exit_status, status) << end.why << output(id);
    return output(id);
  }

  static std::vector<std::string> lines(const std::string& text) {
    std::vector<std::string> all;
    for (std::size_t begin = 0, end = 0; (end = text.find('\n', begin)) != std::string::npos;
         begin = end + 1)
      all.push_back(text.substr(begin, end - begin));
    return all;
  }

  JobNumber last_ = 0;
};

TEST_F(SrunTest, TheScriptRunsOnceAndSrunStartsTheTasks) {
  const std::string text = printed_by(
      script(3,
             "echo script $CUDA_VISIBLE_DEVICES $SLURM_JOB_GPUS $SLURM_NTASKS ${RANK-no rank}\n"
             "srun sh -c 'echo $SLURM_PROCID of $SLURM_NTASKS $RANK $CUDA_VISIBLE_DEVICES'"));
  EXPECT_THAT(lines(text), UnorderedElementsAre("script 1,2,3,4,5,6 1,2,3,4,5,6 3 no rank",
                                                "0 of 3 0 1,2,3,4,5,6", "1 of 3 1 1,2,3,4,5,6",
                                                "2 of 3 2 1,2,3,4,5,6"));
}

TEST_F(SrunTest, TasksSeeTheirOwnGpusWhereTheScriptSaysPerTask) {
  JobSpec spec = script(2, "srun -l sh -c 'echo $CUDA_VISIBLE_DEVICES'");
  spec.gpus_per_task = true;
  EXPECT_THAT(lines(printed_by(spec)), UnorderedElementsAre("0: 1,2", "1: 3,4"));
}

TEST_F(SrunTest, StepsAreNumbered) {
  EXPECT_EQ(printed_by(script(1, "for i in 1 2 3; do srun sh -c 'echo $SLURM_STEP_ID'; done")),
            "0\n1\n2\n");
}

TEST_F(SrunTest, StepsSideBySideTakeDifferentGpusAndWaitForFreeOnes) {
  // Four of two GPUs each on four: two at a time. The first two stay until they have met, so they
  // run side by side, and until another waits.
  const std::string text =
      printed_by(script(2,
                        "d=$(mktemp -d)\n"
                        "for i in 1 2 3 4; do srun -n1 --exclusive --gpus=2 sh -c "
                        "'echo $CUDA_VISIBLE_DEVICES; touch '$d/'step.$SLURM_STEP_ID; "
                        "until [ $(ls '$d'/step.* | wc -l) -ge 2 ] && grep -q waits '$d'/told; "
                        "do sleep 0.02; done' 2>>$d/told & done; wait; cat $d/told; rm -r $d"));
  std::vector<std::string> steps;
  for (const std::string& line : lines(text))
    if (!line.starts_with("srun:")) steps.push_back(line);
  ASSERT_EQ(steps.size(), 4U) << text;
  // Those that come later take any two that are free by then.
  EXPECT_THAT(std::vector(steps.begin(), steps.begin() + 2), UnorderedElementsAre("1,2", "3,4"));
  EXPECT_THAT(text, HasSubstr("waits for 2 GPUs"));
}

TEST_F(SrunTest, EndsWithTheHighestStatus) {
  EXPECT_THAT(printed_by(script(3, "srun sh -c 'exit $SLURM_PROCID'"), 2),
              HasSubstr("task 2: Exited with exit code 2"));
  EXPECT_THAT(printed_by(script(1, "srun sh -c 'kill -9 $$'"), 137), HasSubstr("task 0: Killed"));
  EXPECT_THAT(printed_by(script(1, "srun /no/such/program"), 2), HasSubstr("No such file"));
}

TEST_F(SrunTest, OtherTasksGoOnUnlessTheyAreToBeKilled) {
  const std::string tasks = "sh -c '[ $SLURM_PROCID = 1 ] || exit 3; sleep 0.3; echo went on'";
  EXPECT_THAT(printed_by(script(2, "srun " + tasks), 3), HasSubstr("went on"));
  const std::string forever = "sh -c '[ $SLURM_PROCID = 1 ] || exit 3; sleep 1000; echo went on'";
  EXPECT_THAT(printed_by(script(2, "srun -K " + forever), 143), Not(HasSubstr("went on")));
  EXPECT_THAT(printed_by(script(2, "srun --wait=1 " + forever), 143), Not(HasSubstr("went on")));
}

TEST_F(SrunTest, OutputGoesToTheFilesThatAreNamed) {
  JobSpec spec = script(2,
                        "srun -o '%j_%t.out' -e '%x.err' sh -c 'echo out; echo error >&2'\n"
                        "cat 1_0.out 1_1.out test.err\n"
                        "srun -n1 -o one.out --open-mode=append sh -c 'echo more; echo error >&2'\n"
                        "srun -n1 -o one.out --open-mode=append true; cat one.out");
  EXPECT_EQ(printed_by(spec), "out\nout\nerror\nerror\nmore\nerror\n");
}

TEST_F(SrunTest, OneTaskReadsWhatSrunWould) {
  EXPECT_EQ(printed_by(script(1, "echo words | srun cat")), "words\n");
  EXPECT_EQ(printed_by(script(2, "echo words | srun cat; echo end")), "end\n");
}

TEST_F(SrunTest, SignalsArePassedOn) {
  const auto all =
      lines(printed_by(script(2,
                              "srun sh -c 'trap \"echo heard; exit 0\" USR2; >ready.$SLURM_PROCID; "
                              "while :; do sleep 0.02; done' &\n"
                              "until [ -e ready.0 ] && [ -e ready.1 ]; do sleep 0.02; done\n"
                              "kill -USR2 $!; wait $!; echo status $?")));
  EXPECT_EQ(std::ranges::count(all, "heard"), 2);
  EXPECT_EQ(all.back(), "status 0");
}

TEST_F(SrunTest, TasksDieWithIt) {
  EXPECT_THAT(
      printed_by(script(2,
                        "srun sh -c 'echo $$ >pid.$SLURM_PROCID; exec sleep 1000' &\n"
                        "until [ -s pid.0 ] && [ -s pid.1 ]; do sleep 0.02; done\n"
                        "kill -9 $!; wait $! 2>/dev/null\n"
                        "for t in $(cat pid.*); do while kill -0 $t 2>/dev/null; do sleep 0.02; "
                        "done; done; echo gone")),
      HasSubstr("gone"));
}

TEST_F(SrunTest, WhatTasksLeaveBehindIsKilled) {
  EXPECT_EQ(printed_by(script(1,
                              "srun sh -c 'setsid sleep 1000 & echo $! >pid'\n"
                              "kill -0 $(cat pid) 2>/dev/null || echo gone")),
            "gone\n");
}

TEST_F(SrunTest, LoginShellsThatResetPathFindIt) {
  const std::string look = "command -v srun; command -v scontrol; srun echo ran";
  const std::string found = state_ + "/bin/srun\n" + state_ + "/bin/scontrol\nran\n";
  for (const char* shell : {"#!/bin/bash -l", "#!/bin/bash", "#!/bin/sh", "#!/usr/bin/env bash"})
    EXPECT_EQ(printed_by(script(1, look, shell)), found) << shell;
  // Others than bash read nothing after their profiles.
  EXPECT_EQ(printed_by(script(1, ". \"$TRAINYARD_BIN/profile\"\n" + look, "#!/bin/sh -l")), found);
}

TEST_F(SrunTest, TheUsersOwnBashEnvIsReadToo) {
  JobSpec spec =
      script(1, "echo $FROM_BASH_ENV; srun bash -c 'echo $FROM_BASH_ENV'", "#!/bin/bash -l");
  spec.environment["BASH_ENV"] = root_ + "/bash_env";
  ASSERT_TRUE(create_file(root_ + "/bash_env", "FROM_BASH_ENV=read\n", 0644));
  EXPECT_EQ(printed_by(spec), "read\nread\n");
}

TEST_F(SrunTest, RefusesWhatItCannotDo) {
  EXPECT_THAT(printed_by(script(2, "srun --gpus=5 true"), 1),
              HasSubstr("5 GPUs for this step, and the job has 4"));
  EXPECT_THAT(printed_by(script(1, "srun --pty bash"), 1), HasSubstr("'--pty' is not supported"));
  EXPECT_THAT(printed_by(script(1, "env -i $TRAINYARD_BIN/srun true"), 1),
              HasSubstr("not inside a job"));
  // The first that fails ends the others, so it is worker 0, whose output is read.
  JobSpec every_worker = script(2, "[ $RANK = 0 ] || sleep 1000; srun true");
  every_worker.runs_once = false;
  EXPECT_THAT(printed_by(every_worker, 1), HasSubstr("every worker runs the script"));
}

/// A shell without a trap would die of it, and its job with it.
TEST_F(SrunTest, ADeclaredSignalIsForTheTasksNotForTheScript) {
  JobSpec spec = script(2,
                        "srun sh -c 'trap \"exit 5\" USR1; echo ready; "
                        "while :; do sleep 0.02; done' | tee /dev/null\n"
                        "echo srun ended with ${PIPESTATUS[0]}");
  const RunId id{1, 1};
  start(id, spec);
  ASSERT_TRUE(printed(id, "ready\nready\n"));
  stop(id, SIGUSR1, seconds(60));
  EXPECT_EQ(wait_for_end(id).exit_status, 0);
  EXPECT_THAT(output(id), HasSubstr("srun ended with 5"));
}

TEST_F(SrunTest, ADeclaredSignalWithoutStepsIsForAllButTheScript) {
  JobSpec spec = script(1,
                        "sh -c 'trap \"exit 5\" USR1; echo ready; "
                        "while :; do sleep 0.02; done'\n"
                        "echo it ended with $?");
  const RunId id{1, 1};
  start(id, spec);
  ASSERT_TRUE(printed(id, "ready\n"));
  stop(id, SIGUSR1, seconds(60));
  EXPECT_EQ(wait_for_end(id).exit_status, 0);
  EXPECT_THAT(output(id), HasSubstr("it ended with 5"));
}

TEST_F(SrunTest, SigtermReachesTheScriptAndEveryTaskOnce) {
  JobSpec spec = script(2,
                        "trap 'echo script' TERM\n"
                        "srun sh -c 'trap \"echo task\" TERM; echo ready; sleep 0.5 & wait $!; "
                        "sleep 0.5 & wait $!' & wait $!; wait $!");
  const RunId id{1, 1};
  start(id, spec);
  ASSERT_TRUE(printed(id, "ready\nready\n"));
  stop(id, 0, seconds(60));
  wait_for_end(id);
  const auto all = lines(output(id));
  EXPECT_EQ(std::ranges::count(all, "script"), 1) << output(id);
  EXPECT_EQ(std::ranges::count(all, "task"), 2) << output(id);
}

/// Before the time limit: nothing is stopped yet, and the job goes on with what it makes of it.
TEST_F(SrunTest, TheSignalBeforeTheLimitComesByItself) {
  JobSpec spec = script(1,
                        "trap 'echo saved; scontrol requeue $SLURM_JOB_ID; exit 0' USR1\n"
                        "sleep 1000 & wait");
  spec.signal = {.number = SIGUSR1, .leader_only = true, .ahead = seconds(3599)};
  spec.time = hours(1);
  const RunId id{1, 1};
  const RunReport end = run(id, spec);
  EXPECT_EQ(output(id), "saved\n");
  EXPECT_TRUE(end.asked_requeue);
}

/// In a job whose every worker runs the command, a shell without a trap dies of it; what it started
/// may still save.
TEST_F(SrunTest, AShellThatDiesOfTheSignalBeforeTheLimitDoesNotEndTheOthers) {
  JobSpec spec = shell(
      "sh -c 'trap \"sleep 0.5; echo saved; exit 0\" USR1; "
      "while :; do sleep 0.02; done'; true");
  spec.signal = {.number = SIGUSR1, .leader_only = false, .ahead = seconds(3597)};
  spec.time = hours(1);
  const RunId id{1, 1};
  run(id, spec);
  EXPECT_THAT(output(id), HasSubstr("saved\n"));
}

}  // namespace
}  // namespace trainyard
