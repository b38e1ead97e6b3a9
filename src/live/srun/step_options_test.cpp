#include "live/srun/step_options.h"

#include <gmock/gmock.h>

namespace trainyard {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

const Variables kJob{
    {"SLURM_JOB_ID", "17"}, {"SLURM_JOB_NODELIST", "node1"}, {"HOME", "/home/ada"}};

Expected<StepOptions> parse(const std::vector<std::string>& words, Variables variables = {}) {
  variables.insert(kJob.begin(), kJob.end());
  return parse_step_options(words, variables);
}

StepOptions read(const std::vector<std::string>& words, const Variables& variables = {}) {
  auto options = parse(words, variables);
  EXPECT_TRUE(options) << options.error().message;
  return options ? *options : StepOptions{};
}

std::string refusal(const std::vector<std::string>& words, const Variables& variables = {}) {
  const auto options = parse(words, variables);
  return options ? "taken" : options.error().message;
}

TEST(StepOptions, OptionsEndWithTheCommand) {
  const StepOptions step = read({"-n", "4", "-l", "python3", "train.py", "-n", "9"});
  EXPECT_EQ(step.tasks, 4);
  EXPECT_TRUE(step.label);
  EXPECT_THAT(step.command, ElementsAre("python3", "train.py", "-n", "9"));
  EXPECT_THAT(read({"--", "-x"}).command, ElementsAre("-x"));
}

TEST(StepOptions, AreWrittenAsGetoptHasThem) {
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"-n4", "x"},
                                             {"-n", "4", "x"},
                                             {"--ntasks=4", "x"},
                                             {"--ntasks", "4", "x"},
                                             {"-lun4", "x"},
                                             {"--ntasks-per-node=4", "-N1", "x"}})
    EXPECT_EQ(read(words).tasks, 4) << words[0];
}

TEST(StepOptions, TheJobSaysWhatIsLeftOut) {
  EXPECT_EQ(read({"x"}).tasks, 1);
  EXPECT_EQ(read({"x"}, {{"SLURM_NTASKS", "8"}}).tasks, 8);
  EXPECT_EQ(read({"-n2", "x"}, {{"SLURM_NTASKS", "8"}}).tasks, 2);
  EXPECT_EQ(read({"x"}).gpus_per_task, std::nullopt);
  EXPECT_EQ(read({"x"}, {{"SLURM_GPUS_PER_TASK", "2"}}).gpus_per_task, 2);
  EXPECT_EQ(read({"--gpus=1", "x"}, {{"SLURM_GPUS_PER_TASK", "2"}}).gpus_per_task, std::nullopt);
  EXPECT_TRUE(read({"x"}, {{"SLURM_KILL_BAD_EXIT", "1"}}).kill_on_bad_exit);
}

TEST(StepOptions, LaterRunsAppend) {
  EXPECT_FALSE(read({"x"}).append);
  EXPECT_FALSE(read({"x"}, {{"TRAINYARD_RUN", "1"}}).append);
  EXPECT_TRUE(read({"x"}, {{"TRAINYARD_RUN", "2"}}).append);
  EXPECT_FALSE(read({"--open-mode=truncate", "x"}, {{"TRAINYARD_RUN", "2"}}).append);
}

TEST(StepOptions, GpusAreNamedInManyWays) {
  EXPECT_EQ(read({"--gpus", "2", "x"}).gpus, 2);
  EXPECT_EQ(read({"-G", "a100:2", "x"}).gpus, 2);
  EXPECT_EQ(read({"--gres=gpu:2", "x"}).gpus, 2);
  EXPECT_EQ(read({"--gres=gpu:v100:2", "x"}).gpus, 2);
  EXPECT_EQ(read({"--gres=gpu", "x"}).gpus, 1);
  EXPECT_EQ(read({"--gres=none", "x"}).gpus, 0);
  EXPECT_EQ(read({"--gpus-per-task=1", "x"}).gpus_per_task, 1);
  EXPECT_FALSE(read({"--gpus-per-task=1", "--gpu-bind=none", "x"}).binds_gpus);
}

TEST(StepOptions, WhatIsExported) {
  const StepOptions more = read({"--export=ALL,LR=0.1", "x"});
  EXPECT_TRUE(more.exports_all);
  EXPECT_THAT(more.exports, ElementsAre(Pair("LR", "0.1")));
  const StepOptions some = read({"--export=LR=0.1,HOME,ABSENT", "x"});
  EXPECT_FALSE(some.exports_all);
  EXPECT_THAT(some.exports, ElementsAre(Pair("HOME", "/home/ada"), Pair("LR", "0.1")));
  EXPECT_FALSE(read({"--export=NONE", "x"}).exports_all);
}

TEST(StepOptions, WhatScriptsWriteAndMeansNothingHereIsTaken) {
  read({"--cpu-bind=cores", "--exclusive", "--mem=4G", "-u", "-p", "gpu", "--hint=nomultithread",
        "--distribution=block:block", "--mpi=none", "--jobid=17", "-w", "node1", "-N", "1-1", "x"});
}

TEST(StepOptions, WhatWouldChangeTheTasksIsRefused) {
  for (const char* option : {"--pty", "--multi-prog", "--container-image=x", "--het-group=1", "-Z",
                             "--time=5", "--bcast"})
    EXPECT_THAT(refusal({option, "x"}), HasSubstr("is not supported here")) << option;
  EXPECT_EQ(refusal({"--nodes=2", "x"}), "--nodes: '2': the job has one node");
  EXPECT_EQ(refusal({"--jobid=18", "x"}), "--jobid: this is job 17, not '18'");
  EXPECT_THAT(refusal({"--mpi=pmix", "x"}), HasSubstr("without MPI"));
  EXPECT_THAT(refusal({"--gres=shard:2", "x"}), HasSubstr("only gpu"));
  EXPECT_THAT(refusal({"--gpu-bind=closest", "x"}), HasSubstr("only none"));
  EXPECT_THAT(refusal({"--output=3", "x"}), HasSubstr("one task alone"));
  EXPECT_THAT(refusal({"--ntask=3", "x"}), HasSubstr("--ntasks"));
}

TEST(StepOptions, NonsenseIsNamed) {
  EXPECT_EQ(refusal({"-n", "0", "x"}), "--ntasks: '0' is not a whole number from 1 to 4096");
  EXPECT_THAT(refusal({"-n", "four", "x"}), HasSubstr("'four'"));
  EXPECT_EQ(refusal({"-n"}), "--ntasks: its value is missing");
  EXPECT_EQ(refusal({"--label=yes", "x"}), "--label: takes no value");
  EXPECT_EQ(refusal({}), "the command is missing; write srun [OPTION...] COMMAND");
  EXPECT_THAT(refusal({"x"}, {{"SLURM_NTASKS", "many"}}), HasSubstr("SLURM_NTASKS: 'many'"));
}

}  // namespace
}  // namespace trainyard
