#include "live/srun/step_environment.h"

#include <algorithm>
#include <charconv>

#include "live/job/output_path.h"

namespace trainyard {
namespace {

std::string get(const Variables& variables, const std::string& name) {
  const auto found = variables.find(name);
  return found == variables.end() ? "" : found->second;
}

/// Without --export=ALL: what a task could not be one without.
bool is_always_kept(const std::string& name) {
  return name.starts_with("SLURM") || name.starts_with("TRAINYARD_") || name.starts_with("CUDA_");
}

std::string list(const std::vector<std::string>& gpus) {
  return fmt::format("{}", fmt::join(gpus, ","));
}

void add_slurm(const Step& step, std::int32_t task, Variables& all) {
  const std::string size = std::to_string(step.options.tasks);
  all["SLURM_STEP_ID"] = all["SLURM_STEPID"] = std::to_string(step.number);
  all["SLURM_PROCID"] = all["SLURM_LOCALID"] = std::to_string(task);
  all["SLURM_NTASKS"] = all["SLURM_NPROCS"] = all["SLURM_NTASKS_PER_NODE"] = size;
  all["SLURM_TASKS_PER_NODE"] = all["SLURM_STEP_TASKS_PER_NODE"] = size;
  all["SLURM_STEP_NUM_TASKS"] = size;
  all["SLURM_STEP_NUM_NODES"] = "1";
  all["SLURM_STEP_NODELIST"] = get(all, "SLURM_JOB_NODELIST");
  all["SLURM_NODEID"] = "0";
  all["SLURM_LAUNCH_NODE_IPADDR"] = "127.0.0.1";
  std::string tasks = "0";
  for (std::int32_t other = 1; other < step.options.tasks; ++other)
    tasks += fmt::format(",{}", other);
  all["SLURM_GTIDS"] = tasks;
  if (step.options.cpus_per_task)
    all["SLURM_CPUS_PER_TASK"] = std::to_string(*step.options.cpus_per_task);
}

void add_gpus(const Step& step, std::int32_t task, Variables& all) {
  if (!step.gpus.all.empty()) all["SLURM_STEP_GPUS"] = list(step.gpus.all);
  if (!step.gpus.named) return;  // what the script made visible
  all["SLURM_GPUS_ON_NODE"] = std::to_string(step.gpus.all.size());
  all["CUDA_VISIBLE_DEVICES"] = list(step.gpus.by_task[static_cast<std::size_t>(task)]);
}

void add_gang(const Step& step, std::int32_t task, Variables& all) {
  all["PET_MASTER_PORT"] = std::to_string(step.port.number);  // torchrun's own
  if (all.contains("SUBMITIT_EXECUTOR")) return;
  all["RANK"] = all["LOCAL_RANK"] = std::to_string(task);
  all["WORLD_SIZE"] = all["LOCAL_WORLD_SIZE"] = std::to_string(step.options.tasks);
  all["GROUP_RANK"] = "0";
  all.try_emplace("MASTER_ADDR", "127.0.0.1");
  all.try_emplace("MASTER_PORT", std::to_string(step.port.number));
}

}  // namespace

std::vector<std::string> task_environment(const Step& step, std::int32_t task,
                                          const Variables& variables) {
  Variables all = variables;
  if (!step.options.exports_all)
    std::erase_if(all, [](const auto& each) { return !is_always_kept(each.first); });
  for (const auto& [name, value] : step.options.exports) all[name] = value;
  add_slurm(step, task, all);
  add_gpus(step, task, all);
  add_gang(step, task, all);
  std::vector<std::string> lines;
  for (const auto& [name, value] : all) lines.push_back(name + "=" + value);
  return lines;
}

std::string task_file(std::string_view pattern, const Step& step, std::int32_t task,
                      const Variables& variables) {
  const auto number = [&](const char* name) {
    const std::string text = get(variables, name);
    std::int64_t value = 0;
    std::from_chars(text.data(), text.data() + text.size(), value);
    return value;
  };
  const std::string name = get(variables, "SLURM_JOB_NAME"),
                    user = get(variables, "SLURM_JOB_USER");
  const std::string host = get(variables, "SLURM_JOB_NODELIST");
  OutputNames names{.job = number("SLURM_JOB_ID"),
                    .task = {},
                    .name = name,
                    .user = user,
                    .host = host,
                    .rank = task,
                    .step = step.number};
  names.task.array = number("SLURM_ARRAY_JOB_ID");
  names.task.task = static_cast<decltype(names.task.task)>(number("SLURM_ARRAY_TASK_ID"));
  return output_path(pattern, names);
}

}  // namespace trainyard
