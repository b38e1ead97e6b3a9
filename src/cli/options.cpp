#include "cli/options.h"

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <limits>

#include "cli/commands.h"
#include "workload/generate/generate.h"
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

Expected<TraceOptions> trace_options(const WorkloadOptions& options,
                                     std::vector<std::string>& notes) {
  TraceOptions trace{{.format = options.format, .notes = &notes}, options.drop_larger};
  if (!options.time_unit.empty()) {
    const auto unit = parse_time_unit(options.time_unit);
    if (!unit) return fail_at("--time-unit", unit.error());
    trace.read.unit = *unit;
  }
  return trace;
}

Expected<Workload> read_or_generate(const WorkloadOptions& options, const Cluster& cluster) {
  std::vector<std::string> notes;
  const auto trace = trace_options(options, notes);
  if (!trace) return tl::make_unexpected(trace.error());
  const std::string file = trace_file(options.workload);
  if (file.empty() && (!options.format.empty() || trace->read.unit))
    return fail("{}: its jobs are drawn; --format and --time-unit are for files", options.workload);
  auto workload = is_generated(options.workload)
                      ? generate(options.workload, cluster, options.seed, *trace)
                      : read_workload(options.workload, trace->read);
  if (!options.quiet)
    for (const std::string& text : notes) note(fmt::format("{}: {}", file, text));
  return workload;
}

}  // namespace

void add_trial_rule_options(Command& command, TrialRule& rule) {
  command.option("--trial-below", &rule.below,
                 "small jobs shorter than this are trial, the others batch", {.type = "DURATION"});
  command.option("--trial-max-gpus", &rule.max_gpus, "the most GPUs of a small job (default 1)",
                 {.type = "NUMBER", .range = Range{1, 1'000'000'000}, .needs = "--trial-below"});
}

Expected<void> mark_by_rule(const TrialRule& rule, Workload& workload) {
  if (rule.below.empty()) return {};
  const auto limit = parse_duration(rule.below);
  if (!limit) return fail_at("--trial-below", limit.error());
  const std::size_t trials = mark_trials(*limit, rule.max_gpus, workload);
  note(fmt::format("{} of {} jobs are trial jobs", trials, workload.jobs.size()));
  return {};
}

void add_workload_options(Command& command, const std::string& workload_name,
                          WorkloadOptions& options) {
  command.option(workload_name, &options.workload,
                 "a trace file (also .gz or .zst; - is standard input), or "
                 "GENERATOR:key=value,... (see workload generate --help)",
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
  command.option("--time-unit", &options.time_unit,
                 "what plain numbers of the file's times count (default: the format's, mostly s)",
                 {.type = "UNIT", .words = {time_units().begin(), time_units().end()}});
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
                 "machines that fail or are slow: a file of time,machine,down|up|SPEED, or "
                 "mtbf=30d,repair=4h",
                 {.type = "FILE|RATES"});
}

void add_network_option(Command& command, std::string& network) {
  command.option("--network", &network,
                 "alone: what jobs send does not slow others (default); shared: jobs that span "
                 "machines share links (docs/network.md), as in "
                 "shared,model=iteration,jitter=0.05,loss=0.3",
                 {.type = "alone|shared[,...]"});
}

Expected<std::vector<Fault>> load_faults(const std::string& spec, const Cluster& cluster,
                                         const Workload& workload, std::uint64_t seed) {
  if (spec.empty()) return std::vector<Fault>{};
  Time last;
  for (const Job& job : workload.jobs) last = std::max(last, job.submit + job.duration);
  return read_faults(spec, cluster, (last - Time{}) * 3, seed);
}

void add_pauses_option(Command& command, WorkloadOptions& options) {
  command.option(
      "--pauses", &options.pauses,
      "what pauses cost where the workload does not say: modelled by the job's model and "
      "size (default), or free, whatever the workload says",
      {.type = "COSTS", .words = {"modelled", "free"}});
}

Preparation preparation(const WorkloadOptions& options, bool with_curves) {
  return {options.pauses == "free", with_curves};
}

std::string_view pauses_in_words(std::string_view pause_costs) {
  if (pause_costs == "given") return "pauses cost what the workload says";
  if (pause_costs == "free") return "pauses are free";
  return "pauses are modelled, as the workload does not say what they cost: a checkpoint where the "
         "job's model is known, else 7 to 60 s by its GPUs (--pauses free: nothing)";
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

Expected<Cluster> load_cluster(const std::string& shape_or_file, const Catalogue& models) {
  auto cluster = read_cluster(shape_or_file);
  if (!cluster) return cluster;
  for (const std::string& kind : cluster->kinds)
    if (const std::string meant = models.meant_by(kind); !meant.empty())
      return fail("{}: there is no kind of GPU {}, did you mean {}?", shape_or_file,
                  trainyard::quoted(kind), trainyard::quoted(meant));
  return cluster;
}

Expected<Cluster> load_cluster(const WorkloadOptions& options) {
  const auto models = load_models(options);
  if (!models) return tl::make_unexpected(models.error());
  return load_cluster(options.cluster.empty() ? std::string(kDefaultCluster) : options.cluster,
                      *models);
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

bool warn_of_unfinished(std::string_view policy, std::size_t finished, std::size_t jobs,
                        std::string_view why) {
  if (finished == jobs) return false;
  std::cerr << fmt::format("trainyard: {}: {} of {} jobs did not finish{}{}\n", policy,
                           jobs - finished, jobs, why.empty() ? "" : ": ", why);
  return true;
}

void note_unlimited_trials(const Workload& workload, bool policy_regards_classes) {
  const auto is_trial = [](const Job& job) { return job.job_class == JobClass::trial; };
  if (!policy_regards_classes || workload.users.size() > 0) return;
  if (std::any_of(workload.jobs.begin(), workload.jobs.end(), is_trial))
    note(
        "the workload names no users, so trial jobs have no allowance that could be used up "
        "(queue.trial_share)");
}

void note(std::string_view text) {
  std::cerr << "trainyard: note: " << text << '\n';
}

}  // namespace trainyard::cli
