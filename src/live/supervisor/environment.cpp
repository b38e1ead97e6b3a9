#include "live/supervisor/environment.h"

#include <algorithm>
#include <map>

namespace trainyard {
namespace {

using Variables = std::map<std::string, std::string>;

std::int32_t whole_cpus(const RunPlan& plan) {
  return std::max(1, (plan.per_worker.milli_cpus + 999) / 1000);
}

void set_unless_given(Variables& all, const std::string& name, const std::string& value) {
  if (!value.empty()) all.try_emplace(name, value);
}

void add_user(const RunPlan& plan, Variables& all) {
  const std::string bin = plan.state + "/bin";
  set_unless_given(all, "USER", plan.user);
  set_unless_given(all, "LOGNAME", plan.user);
  set_unless_given(all, "HOME", plan.home);
  set_unless_given(all, "SHELL", plan.shell);
  set_unless_given(all, "PATH", "/usr/local/bin:/usr/bin:/bin");
  all["PATH"] = bin + ":" + all["PATH"];
  all["TRAINYARD_BIN"] = bin;
  // A job that was submitted from within a job brings ours along, and its user's beside it.
  const std::string given = all.contains("BASH_ENV") ? all["BASH_ENV"] : "";
  if (given.empty())
    all.erase("TRAINYARD_BASH_ENV");
  else if (given != bin + "/profile")
    all["TRAINYARD_BASH_ENV"] = given;
  all["BASH_ENV"] = bin + "/profile";
  set_unless_given(all, "OMP_NUM_THREADS", std::to_string(whole_cpus(plan)));
}

/// A worker's GPUs as CUDA is told of them: the driver's numbers, as programs expect. An instance
/// of MIG has none, and CUDA takes either numbers or names.
std::vector<std::string> devices(const RunPlan& plan, std::size_t rank) {
  const auto is_instance = [](const std::string& name) { return name.starts_with("MIG-"); };
  for (const auto& names : plan.gpu_names)
    if (std::ranges::any_of(names, is_instance)) return plan.gpu_names.at(rank);
  std::vector<std::string> numbers;
  for (const std::int32_t gpu : plan.gpus.at(rank)) numbers.push_back(std::to_string(gpu));
  return numbers;
}

/// Of all workers, by number.
std::vector<std::string> all_devices(const RunPlan& plan) {
  std::vector<std::pair<std::int32_t, std::string>> numbered;
  for (std::size_t rank = 0; rank < plan.gpus.size(); ++rank) {
    const auto here = devices(plan, rank);
    for (std::size_t i = 0; i < here.size(); ++i)
      numbered.emplace_back(plan.gpus[rank].at(i), here[i]);
  }
  std::ranges::sort(numbered);
  std::vector<std::string> all;
  for (auto& [number, device] : numbered) all.push_back(std::move(device));
  return all;
}

void add_gpus(const RunPlan& plan, std::int32_t rank, Variables& all) {
  const std::vector<std::string> gpus = all_devices(plan);
  const auto visible = plan.runs_once ? gpus : devices(plan, static_cast<std::size_t>(rank));
  all["CUDA_VISIBLE_DEVICES"] = plan.hides_gpus ? "" : fmt::format("{}", fmt::join(visible, ","));
  // Our numbers are those of the driver; CUDA's own begin with the fastest.
  set_unless_given(all, "CUDA_DEVICE_ORDER", "PCI_BUS_ID");
  if (gpus.empty()) return;
  all["SLURM_JOB_GPUS"] = fmt::format("{}", fmt::join(gpus, ","));
  all["SLURM_GPUS"] = all["SLURM_GPUS_ON_NODE"] = std::to_string(gpus.size());
  if (!plan.runs_once || plan.gpus_per_task)
    all["SLURM_GPUS_PER_TASK"] = std::to_string(plan.per_worker.gpus);
}

/// Of a worker that the supervisor starts: as torchrun and srun would.
void add_gang(const RunPlan& plan, std::int32_t rank, Variables& all) {
  const std::string size = std::to_string(plan.gpus.size());
  all["RANK"] = all["LOCAL_RANK"] = std::to_string(rank);
  all["WORLD_SIZE"] = all["LOCAL_WORLD_SIZE"] = size;
  all["GROUP_RANK"] = "0";
  all["MASTER_ADDR"] = "127.0.0.1";
  all["MASTER_PORT"] = std::to_string(plan.master_port);
  all["SLURM_STEP_ID"] = all["SLURM_STEPID"] = "0";
  all["SLURM_STEP_NUM_TASKS"] = all["SLURM_STEP_TASKS_PER_NODE"] = size;
  all["SLURM_STEP_NUM_NODES"] = "1";
  all["SLURM_STEP_NODELIST"] = plan.host;
  all["SLURM_STEP_GPUS"] = all["CUDA_VISIBLE_DEVICES"];
  all["SLURM_LAUNCH_NODE_IPADDR"] = "127.0.0.1";
}

/// Slurm counts tasks only for those who asked for some. One task with several GPUs is somebody who
/// did not: Lightning, told of one task, would not start its processes for the GPUs itself.
bool counts_tasks(const RunPlan& plan) {
  return !plan.runs_once || plan.gpus.size() > 1 || plan.per_worker.gpus <= 1;
}

void add_slurm(const RunPlan& plan, std::int32_t rank, Variables& all) {
  const std::string size = std::to_string(plan.gpus.size());
  const auto workers = static_cast<std::int64_t>(plan.gpus.size());
  all["SLURM_JOB_ID"] = all["SLURM_JOBID"] = std::to_string(plan.job);
  all["SLURM_JOB_NAME"] = plan.name;
  all["SLURM_JOB_USER"] = plan.user;
  all["SLURM_JOB_UID"] = std::to_string(plan.uid);
  all["SLURM_JOB_GID"] = std::to_string(plan.gid);
  all["SLURM_JOB_PARTITION"] = all["SLURM_CLUSTER_NAME"] = "trainyard";
  if (counts_tasks(plan)) {
    all["SLURM_NTASKS"] = all["SLURM_NPROCS"] = size;
    all["SLURM_NTASKS_PER_NODE"] = all["SLURM_TASKS_PER_NODE"] = size;
  }
  all["SLURM_PROCID"] = all["SLURM_LOCALID"] = all["SLURM_GTIDS"] = std::to_string(rank);
  all["SLURM_NODEID"] = "0";
  all["SLURM_NODELIST"] = all["SLURM_JOB_NODELIST"] = plan.host;
  all["SLURMD_NODENAME"] = all["SLURM_SUBMIT_HOST"] = plan.host;
  all["SLURM_NNODES"] = all["SLURM_JOB_NUM_NODES"] = "1";
  all["SLURM_CPUS_PER_TASK"] = std::to_string(whole_cpus(plan));
  all["SLURM_CPUS_ON_NODE"] = all["SLURM_JOB_CPUS_PER_NODE"] = std::to_string(
      std::max<std::int64_t>(1, (plan.per_worker.milli_cpus * workers + 999) / 1000));
  if (plan.per_worker.memory_mib > 0)
    all["SLURM_MEM_PER_NODE"] = std::to_string(plan.per_worker.memory_mib * workers);
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
  const std::string directory = run_directory(plan);
  const UserDirectory own = job_directory(directory);
  all["TRAINYARD_JOB_ID"] = std::to_string(plan.job);
  all["TRAINYARD_RUN"] = std::to_string(plan.run);
  all["TRAINYARD_CHECKPOINT_DIR"] = checkpoint_directory(plan).told_to_user();
  all["TRAINYARD_REPORT"] = own.told_to_user("report.json");
  all["TRAINYARD_STOP_FILE"] = directory + "/stop";
  all["TRAINYARD_REQUEUE_FILE"] = own.told_to_user("requeue");
  all["TRAINYARD_SAVED"] = own.told_to_user("saved");
  if (plan.restarts > 0) all["TRAINYARD_RESTART"] = std::to_string(plan.restarts);
}

}  // namespace

std::vector<std::string> worker_environment(const RunPlan& plan, std::int32_t rank) {
  Variables all = plan.environment;
  std::erase_if(all, [](const auto& variable) {
    return variable.first.starts_with("SLURM") || variable.first == "TRAINYARD_RESTART";
  });
  // Those of a worker that submitted this job would make its script one, on the other job's port.
  if (plan.runs_once)
    for (const char* name : {"RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "GROUP_RANK",
                             "MASTER_ADDR", "MASTER_PORT"})
      all.erase(name);
  // torchrun does not read MASTER_PORT: this is its default for --master_port.
  all["PET_MASTER_PORT"] = std::to_string(plan.master_port);
  add_user(plan, all);
  add_gpus(plan, rank, all);
  if (!plan.runs_once) add_gang(plan, rank, all);
  add_slurm(plan, rank, all);
  add_array(plan.task, all);
  add_trainyard(plan, all);
  std::vector<std::string> lines;
  for (const auto& [name, value] : all) lines.push_back(name + "=" + value);
  return lines;
}

std::vector<std::string> marks_of_run(const std::string& directory, std::int64_t job,
                                      std::uint32_t run) {
  return {fmt::format("TRAINYARD_JOB_ID={}", job), fmt::format("TRAINYARD_RUN={}", run),
          fmt::format("TRAINYARD_STOP_FILE={}/stop", directory)};
}

}  // namespace trainyard
