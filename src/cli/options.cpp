#include "cli/options.h"

#include <filesystem>
#include <iostream>
#include <limits>

#include "cli/commands.h"
#include "workload/generate.h"
#include "workload/read.h"
#include "workload/select.h"

namespace trainyard::cli {
namespace {

/// A generator by its name, or something with a colon that is no file: then a misspelt generator.
bool is_generated(const std::string& workload) {
  if (names_generator(workload)) return true;
  std::error_code ignored;
  return workload.find(':') != std::string::npos && !std::filesystem::exists(workload, ignored);
}

Expected<Workload> read_or_generate(const WorkloadOptions& options, const Cluster& cluster) {
  if (is_generated(options.workload)) return generate(options.workload, cluster, options.seed);
  std::optional<Format> format;
  if (!options.format.empty()) {
    const auto parsed = parse_format(options.format);
    if (!parsed) return tl::make_unexpected(parsed.error());
    format = *parsed;
  }
  std::vector<std::string> notes;
  auto workload = read_workload(options.workload, {.format = format, .notes = &notes});
  for (const std::string& text : notes) note(fmt::format("{}: {}", options.workload, text));
  return workload;
}

}  // namespace

void add_workload_options(Command& command, const std::string& workload_name,
                          WorkloadOptions& options) {
  command.option(workload_name, &options.workload,
                 "a trace file, or GENERATOR:key=value,... (see workload generate --help)",
                 {.type = "FILE|GENERATOR", .required = true});
  add_format_option(command, options);
  add_cluster_option(command, options);
  add_seed_option(command, options);
  add_drop_larger_option(command, options);
}

void add_format_option(Command& command, WorkloadOptions& options) {
  std::vector<std::string> names;
  for (const FormatEntry& entry : formats()) names.emplace_back(entry.name);
  command.option("--format", &options.format,
                 "the format of the file (default: recognised by its beginning)",
                 {.type = "FORMAT", .words = std::move(names)});
}

void add_cluster_option(Command& command, WorkloadOptions& options) {
  command.option(
      "--cluster", &options.cluster,
      fmt::format("a .toml file, or machines x GPUs x kind (default {})", kDefaultCluster),
      {.type = "FILE|SHAPE"});
}

void add_seed_option(Command& command, WorkloadOptions& options) {
  command.option("--seed", &options.seed, "the seed of everything drawn at random (default 1)",
                 {.type = "NUMBER", .range = Range{0, std::numeric_limits<std::uint64_t>::max()}});
}

void add_drop_larger_option(Command& command, WorkloadOptions& options) {
  command.flag("--drop-larger", &options.drop_larger,
               "leave out jobs that could never run on the cluster");
}

void add_set_option(Command& command, std::vector<std::string>& settings) {
  command.option("--set", &settings, "a parameter of the policy (see trainyard policies NAME)",
                 {.type = "STAGE.PARAM=VALUE"});
}

void add_faults_option(Command& command, std::string& faults) {
  command.option("--faults", &faults,
                 "machines that fail: a file of time,machine,down|up, or mtbf=30d,repair=4h",
                 {.type = "FILE|RATES"});
}

Expected<std::vector<Fault>> load_faults(const std::string& spec, const Cluster& cluster,
                                         const Workload& workload, std::uint64_t seed) {
  if (spec.empty()) return std::vector<Fault>{};
  Time last;
  for (const Job& job : workload.jobs) last = std::max(last, job.submit + job.duration);
  return read_faults(spec, cluster, (last - Time{}) * 3, seed);
}

void add_models_option(Command& command, WorkloadOptions& options) {
  command.option("--models", &options.models, "more models (docs/models.md)",
                 {.type = "FILE.toml"});
}

Expected<Catalogue> load_models(const WorkloadOptions& options) {
  Catalogue catalogue = Catalogue::builtin();
  for (const std::string& file : options.models)
    if (auto ok = catalogue.add_file(file); !ok) return tl::make_unexpected(ok.error());
  return catalogue;
}

Expected<Cluster> load_cluster(const WorkloadOptions& options) {
  return read_cluster(options.cluster.empty() ? std::string(kDefaultCluster) : options.cluster);
}

Expected<Workload> load_workload(const WorkloadOptions& options, const Cluster& cluster) {
  auto workload = read_or_generate(options, cluster);
  if (!workload || !options.drop_larger) return workload;
  const std::size_t all = workload->jobs.size();
  if (const std::size_t dropped = drop_larger(cluster, *workload); dropped > 0)
    note(fmt::format("{}: {} of {} jobs left out: too large for the cluster ({})", options.workload,
                     dropped, all, describe(cluster)));
  return workload;
}

void note(std::string_view text) {
  std::cerr << "trainyard: note: " << text << '\n';
}

}  // namespace trainyard::cli
