#include "live/srun/step_environment.h"

#include <gmock/gmock.h>

namespace trainyard {
namespace {

using testing::Contains;
using testing::Each;
using testing::Not;
using testing::StartsWith;

Variables of_script() {
  return {{"SLURM_JOB_ID", "17"},
          {"SLURM_JOB_NODELIST", "node1.lab"},
          {"SLURM_JOB_USER", "ada"},
          {"SLURM_JOB_NAME", "resnet"},
          {"SLURM_PROCID", "0"},
          {"CUDA_VISIBLE_DEVICES", "4,5,6,7"},
          {"LR", "0.1"},
          {"TRAINYARD_STOP_FILE", "/state/runs/17.1/stop"}};
}

Step step(std::int32_t tasks) {
  Step made;
  made.number = 3;
  made.port.number = 29504;
  made.options.tasks = tasks;
  made.gpus.all = {"4", "5", "6", "7"};
  made.gpus.by_task = share_out(made.gpus.all, made.options);
  return made;
}

/// Who reads what: see environment_test.cpp, which has the same for a worker.
TEST(StepEnvironment, HasWhatTasksLookFor) {
  const auto all = task_environment(step(2), 1, of_script());
  for (const char* variable : {"SLURM_PROCID=1",
                               "SLURM_LOCALID=1",
                               "SLURM_NODEID=0",
                               "SLURM_NTASKS=2",
                               "SLURM_NPROCS=2",
                               "SLURM_NTASKS_PER_NODE=2",
                               "SLURM_TASKS_PER_NODE=2",
                               "SLURM_STEP_ID=3",
                               "SLURM_STEPID=3",
                               "SLURM_STEP_NUM_TASKS=2",
                               "SLURM_STEP_NUM_NODES=1",
                               "SLURM_STEP_NODELIST=node1.lab",
                               "SLURM_STEP_GPUS=4,5,6,7",
                               "SLURM_GTIDS=0,1",
                               "SLURM_JOB_ID=17",
                               "RANK=1",
                               "LOCAL_RANK=1",
                               "WORLD_SIZE=2",
                               "LOCAL_WORLD_SIZE=2",
                               "GROUP_RANK=0",
                               "MASTER_ADDR=127.0.0.1",
                               "MASTER_PORT=29504",
                               "PET_MASTER_PORT=29504",
                               "LR=0.1",
                               "CUDA_VISIBLE_DEVICES=4,5,6,7"})
    EXPECT_THAT(all, Contains(variable));
}

TEST(StepEnvironment, ATaskSeesItsOwnGpusOnlyWhereThatWasAskedFor) {
  Step bound = step(2);
  bound.options.gpus_per_task = 2;
  bound.gpus.named = true;
  bound.gpus.by_task = share_out(bound.gpus.all, bound.options);
  EXPECT_THAT(task_environment(bound, 0, of_script()), Contains("CUDA_VISIBLE_DEVICES=4,5"));
  EXPECT_THAT(task_environment(bound, 1, of_script()), Contains("CUDA_VISIBLE_DEVICES=6,7"));
  bound.options.binds_gpus = false;
  bound.gpus.by_task = share_out(bound.gpus.all, bound.options);
  EXPECT_THAT(task_environment(bound, 1, of_script()), Contains("CUDA_VISIBLE_DEVICES=4,5,6,7"));
}

TEST(StepEnvironment, SubmititSetsTheVariablesOfTorchItself) {
  Variables submitit = of_script();
  submitit["SUBMITIT_EXECUTOR"] = "slurm";
  const auto all = task_environment(step(2), 1, submitit);
  for (const char* name :
       {"RANK=", "LOCAL_RANK=", "WORLD_SIZE=", "LOCAL_WORLD_SIZE=", "MASTER_ADDR=", "MASTER_PORT="})
    EXPECT_THAT(all, Each(Not(StartsWith(name))));
  EXPECT_THAT(all, Contains("SLURM_PROCID=1"));
}

TEST(StepEnvironment, AScriptChoosesAddressAndPortItself) {
  Variables own = of_script();
  own["MASTER_ADDR"] = "node1", own["MASTER_PORT"] = "12355";
  const auto all = task_environment(step(2), 0, own);
  EXPECT_THAT(all, Contains("MASTER_ADDR=node1"));
  EXPECT_THAT(all, Contains("MASTER_PORT=12355"));
}

TEST(StepEnvironment, OnlyWhatIsExportedAndWhatMakesItATask) {
  Step some = step(1);
  some.options.exports_all = false;
  some.options.exports = {{"SEED", "1"}};
  const auto all = task_environment(some, 0, of_script());
  EXPECT_THAT(all, Contains("SEED=1"));
  EXPECT_THAT(all, Contains("SLURM_JOB_ID=17"));
  EXPECT_THAT(all, Contains("TRAINYARD_STOP_FILE=/state/runs/17.1/stop"));
  EXPECT_THAT(all, Each(Not(StartsWith("LR="))));
}

TEST(StepEnvironment, FilesAreNamedAsSlurmNamesThem) {
  Variables task = of_script();
  EXPECT_EQ(task_file("log/%j_%t.out", step(8), 5, task), "log/17_5.out");
  EXPECT_EQ(task_file("%J %s %n %N %u %x %A", step(8), 5, task),
            "17.3 3 0 node1.lab ada resnet 17");
  EXPECT_EQ(task_file("%4t", step(8), 5, task), "0005");
  task["SLURM_ARRAY_JOB_ID"] = "12", task["SLURM_ARRAY_TASK_ID"] = "7";
  EXPECT_EQ(task_file("%A_%a", step(8), 5, task), "12_7");
}

}  // namespace
}  // namespace trainyard
