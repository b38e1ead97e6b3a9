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
  plan.runs = "runs/u1000/jobs", plan.checkpoints = "checkpoints/u1000/jobs";
  plan.host = "node1";
  plan.uid = 1001;
  plan.user = "ada";
  plan.home = "/home/ada";
  plan.shell = "/bin/bash";
  plan.directory = "/home/ada/src";
  plan.per_worker = {.gpus = 2, .milli_cpus = 3500, .memory_mib = 1024};
  plan.gpus = {{6, 7}, {4, 5}};
  plan.master_port = 29504;
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

/// Who reads what, by their documentation and source. "scripts" are those that people share.
struct Expectation {
  const char* variable;
  const char* readers;
};

TEST(WorkerEnvironment, HasWhatScriptsLookFor) {
  const auto all = worker_environment(plan(), 1);
  for (const auto& [variable, readers] : {
           Expectation{"RANK=1", "torch.distributed, Hugging Face Accelerate"},
           Expectation{"WORLD_SIZE=2", "torch.distributed, Accelerate"},
           Expectation{"LOCAL_RANK=1", "torch.distributed, Accelerate, Lightning outside Slurm"},
           Expectation{"LOCAL_WORLD_SIZE=2", "DeepSpeed, scripts written for torchrun"},
           Expectation{"GROUP_RANK=0", "Lightning under torchrun"},
           Expectation{"MASTER_ADDR=127.0.0.1", "torch.distributed"},
           Expectation{"MASTER_PORT=29504", "torch.distributed, Lightning, submitit"},
           Expectation{"PET_MASTER_PORT=29504", "torchrun, as its default of --master_port"},
           Expectation{"CUDA_VISIBLE_DEVICES=4,5", "CUDA"},
           Expectation{"CUDA_DEVICE_ORDER=PCI_BUS_ID", "CUDA"},
           Expectation{"SLURM_JOB_ID=17", "Lightning, submitit, W&B, scontrol"},
           Expectation{"SLURM_JOBID=17", "older scripts"},
           Expectation{"SLURM_JOB_NAME=resnet", "Lightning: 'bash' and 'interactive' are no jobs"},
           Expectation{"SLURM_JOB_USER=ada", "scripts"},
           Expectation{"SLURM_JOB_UID=1001", "scripts"},
           Expectation{"SLURM_JOB_PARTITION=trainyard", "scripts, for names of logs"},
           Expectation{"SLURM_CLUSTER_NAME=trainyard", "scripts, for paths by cluster"},
           Expectation{"SLURM_NTASKS=2", "Lightning detects Slurm by it; submitit"},
           Expectation{"SLURM_NPROCS=2", "older scripts"},
           Expectation{"SLURM_NTASKS_PER_NODE=2", "Lightning compares it with its devices"},
           Expectation{"SLURM_TASKS_PER_NODE=2", "MPI, scripts"},
           Expectation{"SLURM_PROCID=1", "Lightning, submitit"},
           Expectation{"SLURM_LOCALID=1", "Lightning, submitit"},
           Expectation{"SLURM_NODEID=0", "Lightning, submitit"},
           Expectation{"SLURM_NODELIST=node1", "Lightning, for the address of the first"},
           Expectation{"SLURM_JOB_NODELIST=node1", "submitit, scontrol show hostnames"},
           Expectation{"SLURMD_NODENAME=node1", "scripts"},
           Expectation{"SLURM_NNODES=1", "scripts, torchrun --nnodes"},
           Expectation{"SLURM_JOB_NUM_NODES=1", "submitit, scripts, torchrun --nnodes"},
           Expectation{"SLURM_STEP_ID=0", "scripts"},
           Expectation{"SLURM_STEP_NODELIST=node1", "JAX, for the address of the first"},
           Expectation{"SLURM_STEP_NUM_TASKS=2", "scripts"},
           Expectation{"SLURM_STEP_GPUS=4,5", "scripts, for a port of their own"},
           Expectation{"SLURM_CPUS_PER_TASK=4", "scripts, for loader processes and threads"},
           Expectation{"SLURM_CPUS_ON_NODE=7", "scripts, torchrun"},
           Expectation{"SLURM_JOB_CPUS_PER_NODE=7", "dask, scripts"},
           Expectation{"SLURM_MEM_PER_NODE=2048", "scripts"},
           Expectation{"SLURM_GPUS_ON_NODE=4", "scripts, torchrun --nproc-per-node"},
           Expectation{"SLURM_JOB_GPUS=4,5,6,7", "scripts"},
           Expectation{"SLURM_GPUS=4", "scripts"},
           Expectation{"SLURM_GPUS_PER_TASK=2", "srun, scripts"},
           Expectation{"SLURM_SUBMIT_DIR=/home/ada/src", "scripts that cd there; Hydra"},
           Expectation{"SLURM_SUBMIT_HOST=node1", "scripts"},
           Expectation{"TRAINYARD_JOB_ID=17", "our scontrol"},
           Expectation{"TRAINYARD_RUN=1", "our Python package"},
           Expectation{"TRAINYARD_CHECKPOINT_DIR=/var/lib/trainyard/checkpoints/u1000/jobs/17",
                       "our package"},
           Expectation{"TRAINYARD_REPORT=/var/lib/trainyard/runs/u1000/jobs/17.1/job/report.json",
                       "our package"},
           Expectation{"TRAINYARD_STOP_FILE=/var/lib/trainyard/runs/u1000/jobs/17.1/stop",
                       "our package"},
           Expectation{"TRAINYARD_REQUEUE_FILE=/var/lib/trainyard/runs/u1000/jobs/17.1/job/requeue",
                       "scontrol"},
           Expectation{"TRAINYARD_BIN=/var/lib/trainyard/bin", "our profile"},
           Expectation{"BASH_ENV=/var/lib/trainyard/bin/profile", "bash, after its login profiles"},
           Expectation{"OMP_NUM_THREADS=4", "OpenMP, and so torch"},
           Expectation{"HOME=/home/ada", "everybody"},
           Expectation{"USER=ada", "everybody"},
           Expectation{"LOGNAME=ada", "everybody"},
           Expectation{"SHELL=/bin/bash", "everybody"},
           Expectation{"PATH=/var/lib/trainyard/bin:/usr/local/bin:/usr/bin:/bin", "everybody"},
       })
    EXPECT_THAT(all, Contains(variable)) << "for " << readers;
  EXPECT_THAT(all, Each(Not(StartsWith("TRAINYARD_RESTART"))));
  EXPECT_THAT(all, Each(Not(StartsWith("SLURM_RESTART_COUNT"))));
}

TEST(WorkerEnvironment, AScriptThatRunsOnceIsNoWorker) {
  RunPlan script = plan();
  script.runs_once = true;
  script.environment = {{"RANK", "3"},
                        {"LOCAL_RANK", "3"},
                        {"MASTER_PORT", "29999"},
                        {"PET_MASTER_PORT", "29999"}};  // of the worker that submitted it
  const auto all = worker_environment(script, 0);
  for (const char* variable : {"CUDA_VISIBLE_DEVICES=4,5,6,7", "SLURM_JOB_GPUS=4,5,6,7",
                               "SLURM_GPUS_ON_NODE=4", "SLURM_NTASKS=2", "SLURM_PROCID=0",
                               "SLURM_LOCALID=0", "SLURM_NODEID=0", "PET_MASTER_PORT=29504"})
    EXPECT_THAT(all, Contains(variable));
  for (const char* name : {"RANK=", "LOCAL_RANK=", "WORLD_SIZE=", "MASTER_ADDR=", "MASTER_PORT=",
                           "SLURM_STEP", "SLURM_GPUS_PER_TASK="})
    EXPECT_THAT(all, Each(Not(StartsWith(name))));
  script.gpus_per_task = true;
  EXPECT_THAT(worker_environment(script, 0), Contains("SLURM_GPUS_PER_TASK=2"));
}

/// Lightning would take it for the only process of a gang, and wait for the others.
TEST(WorkerEnvironment, OneTaskWithSeveralGpusIsNotCounted) {
  RunPlan script = plan();
  script.runs_once = true;
  script.gpus = {{6, 7}};
  const auto all = worker_environment(script, 0);
  EXPECT_THAT(all, Each(Not(StartsWith("SLURM_NTASKS"))));
  script.per_worker.gpus = 1;
  script.gpus = {{6}};
  EXPECT_THAT(worker_environment(script, 0), Contains("SLURM_NTASKS=1"));
}

TEST(WorkerEnvironment, TheUsersOwnBashEnvIsKept) {
  RunPlan own = plan();
  own.environment = {{"BASH_ENV", "/home/ada/env.sh"}};
  EXPECT_THAT(worker_environment(own, 0), Contains("TRAINYARD_BASH_ENV=/home/ada/env.sh"));
  // From within a job, whose environment is this one.
  own.environment = {{"BASH_ENV", "/var/lib/trainyard/bin/profile"},
                     {"TRAINYARD_BASH_ENV", "/home/ada/env.sh"}};
  EXPECT_THAT(worker_environment(own, 0), Contains("TRAINYARD_BASH_ENV=/home/ada/env.sh"));
  own.environment = {{"TRAINYARD_BASH_ENV", "/home/ada/old.sh"}};
  EXPECT_THAT(worker_environment(own, 0), Each(Not(StartsWith("TRAINYARD_BASH_ENV"))));
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
      {"OMP_NUM_THREADS", "1"},  {"PATH", "/opt/bin"},   {"HOME", "/scratch"},
      {"WANDB_KEY", "x=y"},      {"RANK", "9"},          {"SLURM_JOB_ID", "3"},
      {"SLURM_STEP_TASKS", "0"}, {"TRAINYARD_RUN", "8"}, {"TRAINYARD_RESTART", "4"}};
  const auto all = worker_environment(nested, 0);
  for (const char* variable :
       {"OMP_NUM_THREADS=1", "PATH=/var/lib/trainyard/bin:/opt/bin", "HOME=/scratch",
        "WANDB_KEY=x=y", "RANK=0", "SLURM_JOB_ID=17", "TRAINYARD_RUN=1"})
    EXPECT_THAT(all, Contains(variable));
  EXPECT_THAT(all, Each(Not(StartsWith("SLURM_STEP_TASKS="))));
  EXPECT_THAT(all, Each(Not(StartsWith("TRAINYARD_RESTART"))));
}

TEST(WorkerEnvironment, WithoutGpusNoneAreVisible) {
  RunPlan cpu = plan();
  cpu.gpus = {{}};
  EXPECT_THAT(worker_environment(cpu, 0), Contains("CUDA_VISIBLE_DEVICES="));
  RunPlan stands_in = plan();
  stands_in.hides_gpus = true;
  EXPECT_THAT(worker_environment(stands_in, 0), Contains("CUDA_VISIBLE_DEVICES="))
      << "stand-ins show none of the machine's GPUs";
}

TEST(WorkerEnvironment, HasTheMarksByWhichItsProcessesAreFound) {
  const auto all = worker_environment(plan(), 0);
  for (const std::string& mark : marks_of_run("/var/lib/trainyard/runs/u1000/jobs/17.1", 17, 1))
    EXPECT_THAT(all, Contains(mark));
}

TEST(WorkerEnvironment, InstancesOfMigAreNamedByTheirUuids) {
  RunPlan two = plan();
  two.gpus = {{0}, {0}};
  two.gpu_names = {{"MIG-b"}, {"MIG-a"}};
  const auto with = [&](const std::string& variable) {
    const auto all = worker_environment(two, 0);
    return std::ranges::find(all, variable) != all.end();
  };
  EXPECT_TRUE(with("CUDA_VISIBLE_DEVICES=MIG-b"));
  EXPECT_TRUE(with("SLURM_JOB_GPUS=MIG-a,MIG-b")) << "srun deals these out";
  two.gpu_names = {{"GPU-1"}, {"MIG-a"}};
  EXPECT_TRUE(with("CUDA_VISIBLE_DEVICES=GPU-1")) << "CUDA takes either numbers or names";
  two.gpu_names = {{"GPU-1"}, {"GPU-2"}};
  EXPECT_TRUE(with("CUDA_VISIBLE_DEVICES=0"));
}

}  // namespace
}  // namespace trainyard
