#include "live/supervisor/environment.h"

#include <gmock/gmock.h>

#include <algorithm>

namespace trainyard {
namespace {

using testing::Contains;
using testing::Each;
using testing::Not;
using testing::StartsWith;

RunPlan plan() {
  RunPlan plan;
  plan.job = 17;
  plan.run = 1;
  plan.name = "resnet";
  plan.state = "/var/lib/trainyard";
  plan.host = "node1";
  plan.user = "ada";
  plan.home = "/home/ada";
  plan.shell = "/bin/bash";
  plan.directory = "/home/ada/src";
  plan.per_worker = {.gpus = 2, .milli_cpus = 3500, .memory_mib = 1024};
  plan.gpus = {{6, 7}, {4, 5}};
  return plan;
}

TEST(WorkerEnvironment, ATaskOfAnArrayKnowsIts) {
  RunPlan task = plan();
  EXPECT_THAT(worker_environment(task, 0), Each(Not(StartsWith("SLURM_ARRAY_"))));
  task.task = {
      .array = 12, .task = 4, .count = 3, .lowest = 1, .highest = 7, .step = 3, .at_once = 2};
  for (const char* variable :
       {"SLURM_ARRAY_JOB_ID=12", "SLURM_ARRAY_TASK_ID=4", "SLURM_ARRAY_TASK_COUNT=3",
        "SLURM_ARRAY_TASK_MIN=1", "SLURM_ARRAY_TASK_MAX=7", "SLURM_ARRAY_TASK_STEP=3",
        "SLURM_JOB_ID=17"})
    EXPECT_THAT(worker_environment(task, 0), Contains(variable));
}

TEST(WorkerEnvironment, HasWhatScriptsLookFor) {
  const auto all = worker_environment(plan(), 1);
  for (const char* variable : {"RANK=1",
                               "WORLD_SIZE=2",
                               "LOCAL_RANK=1",
                               "LOCAL_WORLD_SIZE=2",
                               "GROUP_RANK=0",
                               "MASTER_ADDR=127.0.0.1",
                               "MASTER_PORT=29504",
                               "CUDA_VISIBLE_DEVICES=4,5",
                               "SLURM_JOB_ID=17",
                               "SLURM_JOBID=17",
                               "SLURM_JOB_NAME=resnet",
                               "SLURM_NTASKS=2",
                               "SLURM_NTASKS_PER_NODE=2",
                               "SLURM_PROCID=1",
                               "SLURM_LOCALID=1",
                               "SLURM_NODEID=0",
                               "SLURM_NODELIST=node1",
                               "SLURM_JOB_NODELIST=node1",
                               "SLURM_NNODES=1",
                               "SLURM_JOB_NUM_NODES=1",
                               "SLURM_CPUS_PER_TASK=4",
                               "SLURM_SUBMIT_DIR=/home/ada/src",
                               "TRAINYARD_JOB_ID=17",
                               "TRAINYARD_RUN=1",
                               "TRAINYARD_CHECKPOINT_DIR=/var/lib/trainyard/checkpoints/17",
                               "TRAINYARD_REPORT=/var/lib/trainyard/runs/17.1/job/report.json",
                               "TRAINYARD_STOP_FILE=/var/lib/trainyard/runs/17.1/stop",
                               "TRAINYARD_REQUEUE_FILE=/var/lib/trainyard/runs/17.1/job/requeue",
                               "OMP_NUM_THREADS=4",
                               "HOME=/home/ada",
                               "USER=ada",
                               "LOGNAME=ada",
                               "SHELL=/bin/bash",
                               "PATH=/var/lib/trainyard/bin:/usr/local/bin:/usr/bin:/bin"})
    EXPECT_THAT(all, Contains(variable));
  EXPECT_THAT(all, Each(Not(StartsWith("TRAINYARD_RESTART"))));
  EXPECT_THAT(all, Each(Not(StartsWith("SLURM_RESTART_COUNT"))));
}

TEST(WorkerEnvironment, CountsRestartsFromTheSecondRunOn) {
  RunPlan again = plan();
  again.restarts = 1;
  const auto all = worker_environment(again, 0);
  EXPECT_THAT(all, Contains("TRAINYARD_RESTART=1"));
  EXPECT_THAT(all, Contains("SLURM_RESTART_COUNT=1"));
}

TEST(WorkerEnvironment, KeepsTheUsersButNotAnotherJobs) {
  RunPlan nested = plan();
  nested.environment = {
      {"OMP_NUM_THREADS", "1"}, {"PATH", "/opt/bin"},   {"HOME", "/scratch"},
      {"WANDB_KEY", "x=y"},     {"RANK", "9"},          {"SLURM_JOB_ID", "3"},
      {"SLURM_STEP_ID", "0"},   {"TRAINYARD_RUN", "8"}, {"TRAINYARD_RESTART", "4"}};
  const auto all = worker_environment(nested, 0);
  for (const char* variable :
       {"OMP_NUM_THREADS=1", "PATH=/var/lib/trainyard/bin:/opt/bin", "HOME=/scratch",
        "WANDB_KEY=x=y", "RANK=0", "SLURM_JOB_ID=17", "TRAINYARD_RUN=1"})
    EXPECT_THAT(all, Contains(variable));
  EXPECT_THAT(all, Each(Not(StartsWith("SLURM_STEP_ID"))));
  EXPECT_THAT(all, Each(Not(StartsWith("TRAINYARD_RESTART"))));
}

TEST(WorkerEnvironment, WithoutGpusNoneAreVisibleAndPortsDiffer) {
  RunPlan cpu = plan();
  cpu.gpus = {{}};
  EXPECT_THAT(worker_environment(cpu, 0), Contains("CUDA_VISIBLE_DEVICES="));
  EXPECT_THAT(worker_environment(cpu, 0), Contains("MASTER_PORT=29617"));
}

TEST(WorkerEnvironment, HasTheMarksByWhichItsProcessesAreFound) {
  const auto all = worker_environment(plan(), 0);
  for (const std::string& mark : marks_of_run("/var/lib/trainyard", 17, 1))
    EXPECT_THAT(all, Contains(mark));
}

}  // namespace
}  // namespace trainyard
