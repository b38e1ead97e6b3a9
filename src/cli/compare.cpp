// trainyard compare: the same jobs under several policies, over several seeds.
#include <unistd.h>

#include <atomic>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/progress.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "cli/seeded_workloads.h"
#include "study/compare.h"
#include "study/json.h"
#include "study/recipe.h"
#include "study/report/report.h"
#include "study/report/summary.h"
#include "study/run.h"
#include "workload/generate/generate.h"

namespace trainyard::cli {
namespace {

struct CompareCommandOptions : WorkloadOptions {
  std::vector<std::string> policies;              // as given
  std::map<std::string, std::string> lines = {};  // of the policies, by their labels
  std::vector<std::string> settings;
  std::string faults;
  std::string network = "alone";
  int seeds = 1;
  int threads = 0;
  bool bound = false;
  std::string json, report;
};

/// What all runs have in common.
struct Conditions {
  const Cluster& cluster;
  const Catalogue& models;
  const SeededWorkloads& workloads;
  const NetworkOptions& network;
};

Expected<Run> run_one(const CompareCommandOptions& options, const Conditions& common,
                      const std::string& policy, std::uint64_t seed,
                      std::atomic<bool>& regards_classes) {
  const auto spec = PolicySpec::parse(options.lines.at(policy), options.settings);
  if (!spec) return tl::make_unexpected(spec.error());
  const auto workload = common.workloads.of(seed);
  if (!workload) return tl::make_unexpected(workload.error());
  auto faults = load_faults(options.faults, common.cluster, **workload, seed);
  if (!faults) return tl::make_unexpected(faults.error());
  const auto simulation =
      make_simulation(common.cluster, **workload, *spec,
                      {seed, std::move(*faults), &common.models, common.network});
  if (!simulation) return fail_at(policy, simulation.error());
  if ((*simulation)->policy().regards().classes) regards_classes = true;
  (*simulation)->run();
  return summarize_run(**simulation);
}

/// "NAME: LINE" is a policy with a label, any other its own. Puts the lines into the options, and
/// returns the labels in their order.
Expected<std::vector<std::string>> read_labels(CompareCommandOptions& options) {
  std::vector<std::string> labels;
  for (const std::string& given : options.policies) {
    const std::size_t colon = given.find(':');
    const bool is_labelled =
        colon != std::string::npos && given.find_first_of(" =") > colon;  // no part of a setting
    const std::string label = is_labelled ? given.substr(0, colon) : given;
    if (label.empty()) return fail("--policy: {}: the label is empty", trainyard::quoted(given));
    std::string line = is_labelled ? given.substr(colon + 1) : given;
    line.erase(0, line.find_first_not_of(' '));
    if (!options.lines.emplace(label, line).second)
      return fail("--policy: {} is given twice", trainyard::quoted(label));
    labels.push_back(label);
  }
  return labels;
}

/// What a person would type to see this again.
std::string command_line(const CompareCommandOptions& options) {
  const auto quote = [](const std::string& text) {
    return text.find(' ') == std::string::npos ? text : "'" + text + "'";
  };
  std::string text = "trainyard compare --workload " + quote(options.workload);
  if (!options.format.empty()) text += " --format " + options.format;
  if (!options.time_unit.empty()) text += " --time-unit " + options.time_unit;
  if (options.drop_larger) text += " --drop-larger";
  if (options.pauses == "free") text += " --pauses free";
  if (!options.cluster.empty()) text += " --cluster " + quote(options.cluster);
  text += " --policy " + quote(fmt::format("{}", fmt::join(options.policies, ",")));
  for (const std::string& setting : options.settings) text += " --set " + quote(setting);
  if (!options.faults.empty()) text += " --faults " + quote(options.faults);
  if (options.network != "alone") text += " --network " + quote(options.network);
  for (const std::string& file : options.models) text += " --models " + quote(file);
  if (options.bound) text += " --bound";
  return text + fmt::format(" --seed {} --seeds {}", options.seed, options.seeds);
}

Expected<void> show(const Comparison& comparison, const CompareCommandOptions& options) {
  if (!options.report.empty()) {
    if (auto ok = write_report(comparison, options.report); !ok) return ok;
    note(fmt::format("the report is in {}; open it in a browser", options.report));
  }
  if (!options.json.empty())
    if (auto ok = write_output(options.json, to_text(to_json(comparison))); !ok) return ok;
  if (options.json == "-") return {};
  return print(fmt::format("{} on {}\n{}\n\n{}", comparison.workload, comparison.cluster,
                           pauses_in_words(comparison.policies[0].runs[0].result.pause_costs),
                           to_text(summarize(comparison), ::isatty(STDOUT_FILENO) == 1)));
}

/// Under which policies, and with how many of the seeds.
bool warn_of_unfinished_runs(const Comparison& comparison) {
  bool warned = false;
  for (const PolicyRuns& policy : comparison.policies)
    for (std::size_t i = 0; i < policy.runs.size(); ++i) {
      const Result& result = policy.runs[i].result;
      const std::string run = fmt::format("{}, seed {}", policy.policy, comparison.seeds[i]);
      warned = warn_of_unfinished(run, result.finished, result.jobs, "") || warned;
    }
  return warned;
}

Expected<void> compare(CompareCommandOptions& options) {
  if (options.bound && !options.faults.empty())
    return fail("--bound is for a cluster without failures; leave out --faults or --bound");
  const auto labels = read_labels(options);
  if (!labels) return tl::make_unexpected(labels.error());
  bool with_curves = false;
  for (const std::string& label : *labels) {
    const auto spec = PolicySpec::parse(options.lines.at(label), options.settings);
    if (!spec) return tl::make_unexpected(spec.error());
    with_curves = with_curves || goes_by_curves(*spec);
  }
  const auto network = parse_network(options.network);
  if (!network) return tl::make_unexpected(network.error());
  const auto cluster = load_cluster(options);
  if (!cluster) return tl::make_unexpected(cluster.error());
  const auto models = load_models(options);
  if (!models) return tl::make_unexpected(models.error());
  SeededWorkloads workloads(options, *cluster, *models, with_curves);
  if (auto ok = workloads.load(); !ok) return ok;

  CompareOptions plan;
  plan.policies = *labels;
  plan.seeds = seeds_from(options.seed, options.seeds);
  plan.threads = options.threads;
  auto progress = std::make_unique<Progress>("comparing", plan.policies.size() * plan.seeds.size());
  plan.on_run_done = [&] { progress->add(); };
  std::atomic<bool> regards_classes = false;
  auto runs = run_all(plan, [&](const std::string& policy, std::uint64_t seed) {
    return run_one(options, {*cluster, *models, workloads, *network}, policy, seed,
                   regards_classes);
  });
  progress.reset();
  if (!runs) return tl::make_unexpected(runs.error());
  note_unlimited_trials(workloads.first(), regards_classes);
  Comparison comparison{describe(workloads), describe(*cluster), command_line(options), plan.seeds,
                        std::move(*runs)};
  if (options.bound) {
    auto bounds = lower_bounds(workloads, plan.seeds, options.threads);
    if (!bounds) return tl::make_unexpected(bounds.error());
    comparison.bounds = std::move(*bounds);
  }
  if (auto ok = show(comparison, options); !ok) return ok;
  if (warn_of_unfinished_runs(comparison)) throw ExitWith{kJobsUnfinished};
  return {};
}

}  // namespace

void add_compare_command(Command& program) {
  const auto options = std::make_shared<CompareCommandOptions>();
  Command& command = program.add(
      "compare", "Runs several policies over several seeds and puts them side by side.",
      "trainyard compare --workload philly-like:jobs=20000,load=0.9 --policy fifo,srtf,las "
      "--seeds 4\n"
      "trainyard compare --workload philly.csv --cluster 64x8xV100 --policy fifo,fifo-easy "
      "--report report.html\n"
      "trainyard compare --workload jobs.csv --policy \"fifo,order=srtf place=best-fit\" --json -\n"
      "trainyard compare --workload jobs.csv --policy "
      "\"trainyard,unfair:trainyard+queue.fair_wait=0\"");
  add_workload_options(command, "--workload", *options);
  command.option("--policy", &options->policies,
                 "presets or lines of stages, separated by commas, each with a label before it if "
                 "you want (NAME:POLICY); the first is what the others are compared with",
                 {.type = "POLICY,...", .required = true, .separator = ','});
  add_set_option(command, options->settings);
  add_faults_option(command, options->faults);
  add_network_option(command, options->network);
  add_models_option(command, *options);
  add_pauses_option(command, *options);
  command.option("--seeds", &options->seeds, "how many seeds to run, from --seed on (default 1)",
                 {.type = "NUMBER", .range = Range{1, 10'000}});
  command.option("--threads", &options->threads,
                 "how many runs go on at once (default: one for each core)",
                 {.type = "NUMBER", .range = Range{1, 1'024}});
  command.flag("--bound", &options->bound,
               "also the mean JCT that no policy can go below (see trainyard bound)");
  command.option("--json", &options->json, "every run as JSON; - is standard output",
                 {.type = "FILE|-"});
  command.option("--report", &options->report, "an HTML page with plots, in one file",
                 {.type = "FILE"});
  command.notes = "The status is 3 when jobs of a run have not finished at its end.";
  command.action = [options] { return compare(*options); };
}

}  // namespace trainyard::cli
