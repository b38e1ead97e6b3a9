#include "live/supervisor/environment.h"

#include <algorithm>
#include <limits>
#include <map>

namespace trainyard {
namespace {

using Variables = std::map<std::string, std::string>;

constexpr int kMasterPort = 29500;
constexpr int kFirstPortWithoutGpus = kMasterPort + 100;
constexpr std::int64_t kPortsWithoutGpus = 1000;

/// Jobs that run side by side hold different GPUs, and so have different ports.
int master_port(const RunPlan& plan) {
  std::int32_t lowest = std::numeric_limits<std::int32_t>::max();
  for (const auto& gpus : plan.gpus)
    for (const std::int32_t gpu : gpus) lowest = std::min(lowest, gpu);
  if (lowest != std::numeric_limits<std::int32_t>::max()) return kMasterPort + lowest;
  return kFirstPortWithoutGpus + static_cast<int>(plan.job % kPortsWithoutGpus);
}

std::int32_t whole_cpus(const RunPlan& plan) {
  return std::max(1, (plan.per_worker.milli_cpus + 999) / 1000);
}

void set_unless_given(Variables& all, const std::string& name, const std::string& value) {
  if (!value.empty()) all.try_emplace(name, value);
}

void add_user(const RunPlan& plan, Variables& all) {
  set_unless_given(all, "USER", plan.user);
  set_unless_given(all, "LOGNAME", plan.user);
  set_unless_given(all, "HOME", plan.home);
  set_unless_given(all, "SHELL", plan.shell);
  set_unless_given(all, "PATH", "/usr/local/bin:/usr/bin:/bin");
  all["PATH"] = plan.state + "/bin:" + all["PATH"];
}

void add_gang(const RunPlan& plan, std::int32_t rank, Variables& all) {
  const std::string size = std::to_string(plan.gpus.size());
  all["RANK"] = all["LOCAL_RANK"] = std::to_string(rank);
  all["WORLD_SIZE"] = all["LOCAL_WORLD_SIZE"] = size;
  all["GROUP_RANK"] = "0";
  all["MASTER_ADDR"] = "127.0.0.1";
  all["MASTER_PORT"] = std::to_string(master_port(plan));
  all["CUDA_VISIBLE_DEVICES"] = fmt::format("{}", fmt::join(plan.gpus[rank], ","));
  // Our numbers are those of the driver; CUDA's own begin with the fastest.
  set_unless_given(all, "CUDA_DEVICE_ORDER", "PCI_BUS_ID");
  set_unless_given(all, "OMP_NUM_THREADS", std::to_string(whole_cpus(plan)));
}

void add_slurm(const RunPlan& plan, std::int32_t rank, Variables& all) {
  const std::string size = std::to_string(plan.gpus.size());
  all["SLURM_JOB_ID"] = all["SLURM_JOBID"] = std::to_string(plan.job);
  all["SLURM_JOB_NAME"] = plan.name;
  all["SLURM_NTASKS"] = all["SLURM_NTASKS_PER_NODE"] = size;
  all["SLURM_PROCID"] = all["SLURM_LOCALID"] = std::to_string(rank);
  all["SLURM_NODEID"] = "0";
  all["SLURM_NODELIST"] = all["SLURM_JOB_NODELIST"] = plan.host;
  all["SLURM_NNODES"] = all["SLURM_JOB_NUM_NODES"] = "1";
  all["SLURM_CPUS_PER_TASK"] = std::to_string(whole_cpus(plan));
  all["SLURM_SUBMIT_DIR"] = plan.directory;
  if (plan.restarts > 0) all["SLURM_RESTART_COUNT"] = std::to_string(plan.restarts);
}

/// Of a job that is none, nothing.
void add_array(const ArrayTask& task, Variables& all) {
  if (task.array == 0) return;
  all["SLURM_ARRAY_JOB_ID"] = std::to_string(task.array);
  all["SLURM_ARRAY_TASK_ID"] = std::to_string(task.task);
  all["SLURM_ARRAY_TASK_COUNT"] = std::to_string(task.count);
  all["SLURM_ARRAY_TASK_MIN"] = std::to_string(task.lowest);
  all["SLURM_ARRAY_TASK_MAX"] = std::to_string(task.highest);
  all["SLURM_ARRAY_TASK_STEP"] = std::to_string(task.step);
}

void add_trainyard(const RunPlan& plan, Variables& all) {
  const std::string directory = run_directory(plan.state, plan.job, plan.run);
  all["TRAINYARD_JOB_ID"] = std::to_string(plan.job);
  all["TRAINYARD_RUN"] = std::to_string(plan.run);
  all["TRAINYARD_CHECKPOINT_DIR"] = checkpoint_directory(plan.state, plan.job);
  all["TRAINYARD_REPORT"] = directory + "/job/report.json";
  all["TRAINYARD_STOP_FILE"] = directory + "/stop";
  all["TRAINYARD_REQUEUE_FILE"] = directory + "/job/requeue";
  if (plan.restarts > 0) all["TRAINYARD_RESTART"] = std::to_string(plan.restarts);
}

}  // namespace

std::vector<std::string> worker_environment(const RunPlan& plan, std::int32_t rank) {
  Variables all = plan.environment;
  std::erase_if(all, [](const auto& variable) {
    return variable.first.starts_with("SLURM_") || variable.first == "TRAINYARD_RESTART";
  });
  add_user(plan, all);
  add_gang(plan, rank, all);
  add_slurm(plan, rank, all);
  add_array(plan.task, all);
  add_trainyard(plan, all);
  std::vector<std::string> lines;
  for (const auto& [name, value] : all) lines.push_back(name + "=" + value);
  return lines;
}

std::vector<std::string> marks_of_run(const std::string& state, std::int64_t job,
                                      std::uint32_t run) {
  return {fmt::format("TRAINYARD_JOB_ID={}", job), fmt::format("TRAINYARD_RUN={}", run),
          fmt::format("TRAINYARD_STOP_FILE={}/stop", run_directory(state, job, run))};
}

}  // namespace trainyard
