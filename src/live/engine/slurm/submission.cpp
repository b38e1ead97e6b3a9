#include "live/engine/slurm/submission.h"

#include <algorithm>
#include <map>

namespace trainyard {
namespace {

std::string shell_word(std::string_view text) {
  std::string word = "'";
  for (const char c : text) word += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return word + "'";
}

std::string shell_words(const std::vector<std::string>& words) {
  std::vector<std::string> safe;
  for (const std::string& word : words) safe.push_back(shell_word(word));
  return fmt::format("{}", fmt::join(safe, " "));
}

/// Many jobs may meet on a node: each has a port by its number.
constexpr std::string_view kGang = R"(#!/bin/bash
export MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
export MASTER_PORT=$((20000 + SLURM_JOB_ID % 20000)) WORLD_SIZE=$SLURM_NTASKS
exec srun {} bash -c 'export RANK=$SLURM_PROCID LOCAL_RANK=$SLURM_LOCALID GROUP_RANK=$SLURM_NODEID
  export LOCAL_WORLD_SIZE={}; exec "$@"' worker {}
)";

Expected<std::string> script_of(const Launch& launch, std::int32_t on_each) {
  const JobSpec& spec = *launch.spec;
  const bool is_gang = launch.workers.size() > 1 && !spec.runs_once;
  if (!spec.script.empty()) {
    if (is_gang)
      return fail("a script for {} workers needs a line #SBATCH and srun in it, to run under Slurm",
                  launch.workers.size());
    return spec.script;
  }
  const std::string command = shell_words(spec.command);
  if (!is_gang) return fmt::format("#!/bin/sh\nexec {}\n", command);
  const std::string gpus =
      on_each > 1 ? fmt::format("--gpus-per-task={}", launch.per_worker.gpus) : "";
  return fmt::format(kGang, gpus, on_each, command);
}

/// How many workers each node has.
Expected<std::int32_t> even_share(const std::vector<std::string>& nodes) {
  std::map<std::string, std::int32_t> shares;
  for (const std::string& node : nodes) ++shares[node];
  const std::int32_t each = shares.begin()->second;
  for (const auto& [node, share] : shares)
    if (share != each)
      return fail(
          "Slurm shares a gang evenly over its nodes, and this one has {} workers on {} and "
          "{} on {}",
          each, shares.begin()->first, share, node);
  return each;
}

std::vector<std::string> environment_of(const Launch& launch) {
  std::vector<std::string> variables;
  for (const auto& [name, value] : launch.spec->environment)
    variables.push_back(name + "=" + value);
  if (!launch.spec->environment.contains("PATH"))
    variables.emplace_back("PATH=/usr/local/bin:/usr/bin:/bin");
  variables.push_back(fmt::format("TRAINYARD_JOB_ID={}", launch.id.job));
  variables.push_back(fmt::format("TRAINYARD_RUN={}", launch.id.run));
  // Where all nodes see it, as they see the job's own directory.
  variables.push_back(fmt::format("TRAINYARD_CHECKPOINT_DIR={}/trainyard-checkpoints/{}",
                                  launch.spec->directory, launch.id.job));
  if (launch.restarts > 0)
    for (const char* name : {"TRAINYARD_RESTART", "SLURM_RESTART_COUNT"})
      variables.push_back(fmt::format("{}={}", name, launch.restarts));
  if (launch.task.array != 0) {
    variables.push_back(fmt::format("SLURM_ARRAY_JOB_ID={}", launch.task.array));
    variables.push_back(fmt::format("SLURM_ARRAY_TASK_ID={}", launch.task.task));
  }
  return variables;
}

}  // namespace

Expected<SlurmSubmission> submission_of(const Launch& launch,
                                        const std::vector<std::string>& nodes) {
  const JobSpec& spec = *launch.spec;
  const auto each = even_share(nodes);
  if (!each) return tl::make_unexpected(each.error());
  const auto script = script_of(launch, *each);
  if (!script) return tl::make_unexpected(script.error());
  SlurmSubmission job;
  job.owner = launch.owner;
  job.name = spec.name;
  job.script = *script;
  job.directory = spec.directory;
  job.output = spec.output;
  job.error = spec.error;
  job.append = spec.append || launch.id.run > 1;  // as in local/launch.cpp
  job.arguments = {"trainyard"};
  if (!spec.script.empty())
    job.arguments.insert(job.arguments.end(), spec.command.begin(), spec.command.end());
  job.environment = environment_of(launch);
  job.nodes = static_cast<std::int32_t>(nodes.size()) / *each;
  job.tasks_per_node = *each;
  job.cpus_per_task = std::max(launch.per_worker.milli_cpus / 1000, 1);
  job.gpus_per_node = launch.per_worker.gpus * *each;
  job.memory_per_node_mib = std::int64_t{launch.per_worker.memory_mib} * *each;
  job.time = spec.time;
  return job;
}

}  // namespace trainyard
