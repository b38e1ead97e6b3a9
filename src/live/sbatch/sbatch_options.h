// The options of sbatch (22.05), and what becomes of each here: it is taken, it is ignored with a
// note because the job does the same without it, or it is refused with a sentence that says what
// to do instead. Scripts are read by this table, and docs/slurm-users.md prints it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "live/job/job_spec.h"

namespace trainyard {

/// Which variables of who submits go along: --export.
struct ExportRule {
  bool all = true;
  std::vector<std::string> names;             // these, where not all do
  std::map<std::string, std::string> values;  // and these, set so

  bool operator==(const ExportRule&) const = default;
};

/// "ALL", "NONE", "ALL,NAME=VALUE", "NAME,NAME=VALUE ...".
Expected<ExportRule> parse_export(std::string_view text);
/// What goes along of `all`.
std::map<std::string, std::string> exported(const ExportRule& rule,
                                            std::map<std::string, std::string> all);

/// What the options of a script add up to, before workers and their parts are known.
struct SbatchWishes {
  JobSpec spec;
  ExportRule exported;
  std::optional<std::int64_t> tasks, nodes, tasks_per_node;
  std::optional<std::int64_t> gpus, gpus_per_task, gpus_per_node;
  std::optional<std::int64_t> cpus_per_gpu;
  std::optional<std::int64_t> memory, memory_per_cpu, memory_per_gpu;  // MiB; `memory` of a node
};

/// The number of workers, and each one's part of what was asked for in all or for each node.
Expected<JobSpec> add_up(SbatchWishes wishes);

struct SbatchOption {
  enum class Fate : std::uint8_t { taken, ignored, refused };
  enum class Value : std::uint8_t { none, optional, required };

  std::string_view name;
  char letter = 0;  // 0: none
  Value value{};
  Fate fate{};
  std::string_view text;  // what it means here; why it is ignored; what to do instead
  /// Of one taken: how its value becomes a wish; or the field of the job that it is the value of.
  Expected<void> (*set)(SbatchWishes& wishes, std::string_view value) = nullptr;
  std::string_view field = {};
};

/// Of one that is taken. The error does not name the option.
Expected<void> take(const SbatchOption& option, std::string_view value, SbatchWishes& wishes);

std::span<const SbatchOption> sbatch_options();
/// By "--name" or "-l"; null when sbatch has no such option.
const SbatchOption* find_sbatch_option(std::string_view word);

/// Slurm's memory: a number of MiB, or one with a unit, as parse_memory has it; in MiB, rounded up.
Expected<std::int32_t> parse_sbatch_memory(std::string_view text);

}  // namespace trainyard
