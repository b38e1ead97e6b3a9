// trainyard bound: the mean JCT that no scheduler can go below, and what GPU time was worth.
#include <memory>
#include <nlohmann/json.hpp>

#include "base/text_plot.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "cli/seeded_workloads.h"
#include "study/bound.h"
#include "study/json.h"
#include "study/report/quantity.h"

namespace trainyard::cli {
namespace {

struct BoundOptions : WorkloadOptions {
  int seeds = 1;
  int threads = 0;
  std::string json;
};

Interval mean_of(const std::vector<LowerBound>& bounds, double LowerBound::*value) {
  std::vector<double> values;
  for (const LowerBound& bound : bounds) values.push_back(bound.*value);
  return mean_interval(values);
}

std::string prices_text(const std::vector<LowerBound>& bounds) {
  constexpr std::size_t kColumns = 72, kRows = 10;
  constexpr double kDay = 86'400;
  PlotSeries series;
  for (const PriceAt& at : mean_prices(bounds, kColumns))
    series.points.push_back({at.at_s / kDay, at.price});
  if (series.points.empty()) return "GPUs are not scarce at any time.\n";
  return "Price of a GPU-second, in seconds of completion time, by days since the first "
         "submission\n" +
         plot(std::vector{series}, kColumns, kRows);
}

std::string text_of(const BoundRuns& runs) {
  const Interval jct = mean_of(runs.bounds, &LowerBound::mean_jct_s);
  const Interval run = mean_of(runs.bounds, &LowerBound::mean_run_s);
  const NumberFormat format(Quantity::seconds, std::vector{jct, run});
  const auto number = [&](const Interval& value) {
    std::string text = format.mean(value);
    if (runs.seeds.size() > 1) text += " " + format.spread(value);
    return fmt::format("{} ({:.0f} s)", format.with_unit(std::move(text)), value.mean);
  };
  return fmt::format(
      "{} on {}\n\nNo scheduler has a mean JCT below {}.\nIf no job ever waited it would be "
      "{}.\n\n{}",
      runs.workload, runs.cluster, number(jct), number(run), prices_text(runs.bounds));
}

Expected<void> bound(const BoundOptions& options) {
  const auto cluster = load_cluster(options);
  if (!cluster) return tl::make_unexpected(cluster.error());
  const auto models = load_models(options);
  if (!models) return tl::make_unexpected(models.error());
  SeededWorkloads workloads(options, *cluster, *models, false);
  if (auto ok = workloads.load(); !ok) return ok;
  BoundRuns runs{
      describe(workloads), describe(*cluster), seeds_from(options.seed, options.seeds), {}};
  auto bounds = lower_bounds(workloads, runs.seeds, options.threads);
  if (!bounds) return tl::make_unexpected(bounds.error());
  runs.bounds = std::move(*bounds);
  if (!options.json.empty())
    if (auto ok = write_output(options.json, to_text(to_json(runs))); !ok) return ok;
  if (options.json == "-") return {};
  return print(text_of(runs));
}

}  // namespace

void add_bound_command(Command& program) {
  const auto options = std::make_shared<BoundOptions>();
  Command& command = program.add(
      "bound", "Tells the mean JCT that no scheduler can go below, and what GPU time was worth.",
      "trainyard bound --workload philly-like:jobs=20000,load=0.9\n"
      "trainyard bound --workload philly.csv --cluster 64x8xV100 --json bound.json\n"
      "trainyard bound --workload philly-like:jobs=20000 --seeds 4");
  add_workload_options(command, "--workload", *options);
  add_models_option(command, *options);
  add_pauses_option(command, *options);
  command.option("--seeds", &options->seeds, "how many seeds to bound, from --seed on (default 1)",
                 {.type = "NUMBER", .range = Range{1, 10'000}});
  command.option("--threads", &options->threads,
                 "how many seeds are bounded at once (default: one for each core)",
                 {.type = "NUMBER", .range = Range{1, 1'024}});
  command.option("--json", &options->json, "the bounds and prices as JSON; - is standard output",
                 {.type = "FILE|-"});
  command.notes =
      "The bound holds for every policy on a cluster without failures, whatever the policy knows.";
  command.action = [options] { return bound(*options); };
}

}  // namespace trainyard::cli
