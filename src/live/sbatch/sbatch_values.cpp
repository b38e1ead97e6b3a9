#include "live/sbatch/sbatch_values.h"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

#include "base/split.h"

namespace trainyard {
namespace {

/// The message without the name of the field, which the option's stands for.
Expected<void> set_field(SbatchWishes& wishes, std::string_view field,
                         const nlohmann::json& value) {
  auto done = set_job_field(wishes.spec, field, value);
  if (!done) return fail("{}", done.error().message.substr(field.size() + 2));
  return done;
}

Expected<void> require_kind(SbatchWishes& wishes, std::string_view kind) {
  const std::string before = wishes.spec.gpu_kind;
  if (!before.empty() && before != kind)
    return fail("GPUs of kind {} cannot be asked for beside {}: a job has one kind",
                trainyard::quoted(kind), trainyard::quoted(before));
  return set_field(wishes, "gpu_kind", kind);
}

bool is_number(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

Expected<std::int32_t> workers_of(const SbatchWishes& wishes, std::int64_t nodes) {
  std::int64_t workers = nodes * wishes.tasks_per_node.value_or(1);
  const bool by_gpus = !wishes.tasks && !wishes.nodes && !wishes.tasks_per_node && wishes.gpus &&
                       wishes.gpus_per_task && *wishes.gpus_per_task > 0;
  if (by_gpus && *wishes.gpus % *wishes.gpus_per_task != 0)
    return fail("--gpus={} is not a multiple of --gpus-per-task={}", *wishes.gpus,
                *wishes.gpus_per_task);
  if (by_gpus) workers = *wishes.gpus / *wishes.gpus_per_task;
  if (wishes.tasks) workers = *wishes.tasks;
  JobSpec checked;
  if (auto ok = set_job_field(checked, "workers", workers); !ok)
    return fail("--ntasks: {}", ok.error().message.substr(9));
  return checked.workers;
}

Expected<void> share_gpus(SbatchWishes& wishes, std::int64_t nodes) {
  auto total = wishes.gpus;
  if (!total && wishes.gpus_per_node) total = *wishes.gpus_per_node * nodes;
  const std::int32_t workers = wishes.spec.workers;
  if (!wishes.gpus_per_task && total) {
    if (*total % workers != 0)
      return fail("{} GPUs cannot be shared evenly by {} tasks; ask with --gpus-per-task", *total,
                  workers);
    wishes.gpus_per_task = *total / workers;
  }
  if (!wishes.gpus_per_task) return {};
  if (auto ok = set_job_field(wishes.spec, "gpus", *wishes.gpus_per_task); !ok)
    return fail("GPUs for each task: {}", ok.error().message.substr(6));
  return {};
}

Expected<void> share_memory(SbatchWishes& wishes, std::int64_t nodes) {
  const Resources& each = wishes.spec.per_worker;
  const std::int64_t workers = wishes.spec.workers;
  std::int64_t mib = 0;
  if (wishes.memory == 0 && !wishes.spec.exclusive)
    return fail(
        "--mem=0 asks for all of the machine's memory: add --exclusive, or leave it out, and each "
        "GPU brings its part");
  if (wishes.memory) mib = (*wishes.memory * nodes + workers - 1) / workers;
  if (wishes.memory_per_gpu) mib = *wishes.memory_per_gpu * each.gpus;
  if (wishes.memory_per_cpu)
    mib = *wishes.memory_per_cpu * std::max<std::int64_t>(1, each.milli_cpus / 1000);
  return set_job_field(wishes.spec, "memory", fmt::format("{}MiB", mib));
}

}  // namespace

Expected<void> take(const SbatchOption& option, std::string_view value, SbatchWishes& wishes) {
  if (option.set != nullptr) return option.set(wishes, value);
  return set_field(wishes, option.field, value);
}

Expected<std::int64_t> whole_number_of(std::string_view text) {
  constexpr std::int64_t kMost = 1'000'000;
  std::int64_t value = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
  if (!is_number(text) || parsed.ec != std::errc{} || value > kMost)
    return fail("{} is not a whole number up to {}", trainyard::quoted(text), kMost);
  return value;
}

Expected<std::int32_t> parse_sbatch_memory(std::string_view text) {
  const bool has_unit = text.find_first_not_of("0123456789.") != std::string_view::npos;
  return parse_memory(has_unit ? std::string(text) : fmt::format("{}M", text));
}

Expected<std::int64_t> gpus_of_kind(SbatchWishes& wishes, std::string_view text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return whole_number_of(text);
  if (auto ok = require_kind(wishes, text.substr(0, colon)); !ok)
    return tl::make_unexpected(ok.error());
  return whole_number_of(text.substr(colon + 1));
}

Expected<void> set_gres(SbatchWishes& wishes, std::string_view value) {
  if (value == "none") return {};
  for (const std::string_view entry : split(value, ",")) {
    if (entry != "gpu" && !entry.starts_with("gpu:"))
      return fail("{}: only gpu, gpu:N and gpu:KIND:N can be asked for here",
                  trainyard::quoted(entry));
    const std::string_view what = entry.size() > 4 ? entry.substr(4) : "1";
    const bool is_kind = what.find(':') == std::string_view::npos && !is_number(what);
    const auto number =
        gpus_of_kind(wishes, is_kind ? fmt::format("{}:1", what) : std::string(what));
    if (!number) return tl::make_unexpected(number.error());
    wishes.gpus_per_node = *number;
  }
  return {};
}

Expected<void> set_dependency(SbatchWishes& wishes, std::string_view value) {
  nlohmann::json jobs = nlohmann::json::array();
  for (const std::string_view entry : split(value, ",")) {
    const auto parts = split(entry, ":");
    if (parts[0] != "afterok" || parts.size() < 2)
      return fail("{}: only afterok:JOB[:JOB...] is known here", trainyard::quoted(entry));
    for (std::size_t i = 1; i < parts.size(); ++i) {
      std::int64_t job = 0;
      const auto parsed = std::from_chars(parts[i].data(), parts[i].data() + parts[i].size(), job);
      if (!is_number(parts[i]) || parsed.ec != std::errc{})
        return fail(
            "{} is not the number of a job or an array; trainyard show tells that of a task",
            trainyard::quoted(parts[i]));
      jobs.push_back(job);
    }
  }
  return set_field(wishes, "after", jobs);
}

Expected<void> set_nodes(SbatchWishes& wishes, std::string_view value) {
  const std::size_t dash = value.find('-');
  if (dash != std::string_view::npos && value.substr(0, dash) != value.substr(dash + 1))
    return fail("{} is a range; write how many", trainyard::quoted(value));
  return set_whole<&SbatchWishes::nodes>(wishes, value.substr(0, dash));
}

Expected<void> set_constraint(SbatchWishes& wishes, std::string_view value) {
  if (!wishes.spec.constraint.empty())
    return fail("{} cannot be asked for beside {}; write one --constraint with & between",
                trainyard::quoted(value), trainyard::quoted(wishes.spec.constraint));
  return set_field(wishes, "constraint", value);
}

Expected<void> set_exclusive(SbatchWishes& wishes, std::string_view value) {
  if (!value.empty())
    return fail("{}: a machine can only be had whole here; write --exclusive",
                trainyard::quoted(value));
  wishes.spec.exclusive = true;
  return {};
}

Expected<void> set_export(SbatchWishes& wishes, std::string_view value) {
  auto rule = parse_export(value);
  if (!rule) return tl::make_unexpected(rule.error());
  wishes.exported = *std::move(rule);
  return {};
}

Expected<void> set_kill_on_invalid_dependency(SbatchWishes& /*wishes*/, std::string_view value) {
  if (value == "yes") return {};
  return fail("{}: a job that waits for one that is not done is always cancelled",
              trainyard::quoted(value));
}

/// Relative to where it is submitted, which only the one who submits knows.
Expected<void> set_directory(SbatchWishes& wishes, std::string_view value) {
  wishes.spec.directory = value;
  return {};
}

Expected<void> set_nothing(SbatchWishes& /*wishes*/, std::string_view /*value*/) {
  return {};
}

Expected<JobSpec> add_up(SbatchWishes wishes) {
  wishes.spec.gpus_per_task = wishes.gpus_per_task.has_value();
  const std::int64_t nodes = wishes.nodes.value_or(1);
  const auto workers = workers_of(wishes, nodes);
  if (!workers) return tl::make_unexpected(workers.error());
  wishes.spec.workers = *workers, wishes.spec.max_workers = 0;
  if (auto ok = share_gpus(wishes, nodes); !ok) return tl::make_unexpected(ok.error());
  if (wishes.cpus_per_gpu) {
    const std::int64_t cores = *wishes.cpus_per_gpu * wishes.spec.per_worker.gpus;
    if (auto ok = set_job_field(wishes.spec, "cpus", cores); !ok)
      return fail("--cpus-per-gpu: {}", ok.error().message);
  }
  if (auto ok = share_memory(wishes, nodes); !ok) return tl::make_unexpected(ok.error());
  return std::move(wishes.spec);
}

Expected<ExportRule> parse_export(std::string_view text) {
  ExportRule rule;
  rule.all = false;
  if (text == "NONE" || text == "NIL") return rule;
  for (const std::string_view word : split(text, ",")) {
    const std::size_t sign = word.find('=');
    if (word == "ALL") {
      rule.all = true;
    } else if (word.empty() || sign == 0 || word == "NONE") {
      return fail("{}: write ALL, NONE, or names and NAME=VALUE with commas between",
                  trainyard::quoted(text));
    } else if (sign == std::string_view::npos) {
      rule.names.emplace_back(word);
    } else {
      rule.values[std::string(word.substr(0, sign))] = word.substr(sign + 1);
    }
  }
  return rule;
}

std::map<std::string, std::string> exported(const ExportRule& rule,
                                            std::map<std::string, std::string> all) {
  std::erase_if(all, [&](const auto& variable) {
    return !rule.all && std::ranges::find(rule.names, variable.first) == rule.names.end();
  });
  for (const auto& [name, value] : rule.values) all[name] = value;
  return all;
}

}  // namespace trainyard
