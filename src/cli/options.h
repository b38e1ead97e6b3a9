// Options that several commands share: which jobs, on which cluster. A command that runs jobs does
//
//   auto options = std::make_shared<WorkloadOptions>();
//   add_workload_options(command, "--workload", *options);    // and, when it runs:
//   const auto cluster = load_cluster(*options);
//   const auto workload = load_workload(*options, *cluster);
//   check_fits(*workload, *cluster);                           // model/workload.h
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/error.h"
#include "cli/command.h"
#include "model/cluster.h"
#include "model/workload.h"
#include "perf/catalogue.h"
#include "policy/registry.h"
#include "sim/faults.h"
#include "study/recipe.h"

namespace trainyard::cli {

constexpr std::string_view kDefaultCluster = "16x8xV100";

struct WorkloadOptions {
  std::string workload;   // a file, or GENERATOR:key=value,...
  std::string format;     // of the file; empty: found out
  std::string time_unit;  // of plain numbers in the file; empty: the format's
  std::string cluster;    // empty: kDefaultCluster
  std::uint64_t seed = 1;
  bool drop_larger = false;
  bool quiet = false;               // no notes: they were shown for another seed
  std::string pauses = "modelled";  // where the workload does not say; or "free"
  std::vector<std::string> models;  // files that add to the catalogue
};

/// The workload is an option or, for a name without dashes, an argument. Both must be given.
void add_workload_options(Command& command, const std::string& workload_name,
                          WorkloadOptions& options);
void add_format_option(Command& command, WorkloadOptions& options);
void add_cluster_option(Command& command, WorkloadOptions& options);
void add_seed_option(Command& command, WorkloadOptions& options);
void add_drop_larger_option(Command& command, WorkloadOptions& options);

/// Which jobs of a trace that knows no classes are trial jobs: the short and small ones.
struct TrialRule {
  std::string below;  // empty: the classes stay as they are
  std::int32_t max_gpus = 1;
};
/// --trial-below DURATION and --trial-max-gpus N.
void add_trial_rule_options(Command& command, TrialRule& rule);
/// By that rule; how many they are is said on stderr.
Expected<void> mark_by_rule(const TrialRule& rule, Workload& workload);

/// --set stage.param=value, as often as needed.
void add_set_option(Command& command, std::vector<std::string>& settings);
/// --faults FILE|mtbf=...,repair=...
void add_faults_option(Command& command, std::string& faults);

/// --network alone|shared,...; parse_network reads it.
void add_network_option(Command& command, std::string& network);

/// The faults of a run over this workload: drawn ones until three times its span, which a run
/// outlasts only when the cluster is hopelessly overloaded.
Expected<std::vector<Fault>> load_faults(const std::string& spec, const Cluster& cluster,
                                         const Workload& workload, std::uint64_t seed);

Expected<Cluster> load_cluster(const WorkloadOptions& options);
/// The same by its name; refuses a kind of GPU that is a misspelling of one in `models`.
Expected<Cluster> load_cluster(const std::string& shape_or_file, const Catalogue& models);

/// --pauses modelled|free.
void add_pauses_option(Command& command, WorkloadOptions& options);
/// What is added to the workload, by that option.
Preparation preparation(const WorkloadOptions& options, bool with_curves);
/// A sentence on where the costs come from, for Result::pause_costs.
std::string_view pauses_in_words(std::string_view pause_costs);

/// --models FILE.toml, as often as needed.
void add_models_option(Command& command, WorkloadOptions& options);
/// The built-in catalogue, with the files that were given.
Expected<Catalogue> load_models(const WorkloadOptions& options);

/// Reads or generates it. What was left out on the way is said on stderr.
Expected<Workload> load_workload(const WorkloadOptions& options, const Cluster& cluster);

/// Says on stderr that trial jobs have their right without limit, where nobody has a name.
void note_unlimited_trials(const Workload& workload, bool policy_regards_classes);

/// A line on stderr about something that is no error.
void note(std::string_view text);

/// A line on stderr if some of the jobs did not finish; `why` may be empty. Whether it was needed.
bool warn_of_unfinished(std::string_view policy, std::size_t finished, std::size_t jobs,
                        std::string_view why);

}  // namespace trainyard::cli
