// Distributed jobs with models, like those of Dally's study: see generate_dally_figures.h for where
// the figures are from. Model and GPUs are drawn together, in the proportions of the log; the run
// time by inverting the distribution of the demand's class, its logarithm interpolated between the
// points. That is the time of all iterations, of which each GPU does its part: a job on g GPUs ends
// after the g-th part of it. Iterations are as many as fit that at the model's median.
#include <algorithm>
#include <cmath>

#include "workload/generate/dally_figures.h"
#include "workload/generate/parts.h"

namespace trainyard {
namespace {

constexpr std::array<std::string_view, 2> kArrivals{"batch", "poisson"};

double draw_seconds(std::span<const dally::Durations> classes, std::int32_t gpus, double share) {
  const auto of = std::find_if(classes.begin(), classes.end(),
                               [&](const dally::Durations& d) { return gpus <= d.most_gpus; });
  const auto above = std::upper_bound(dally::kShares.begin(), dally::kShares.end(), share);
  const auto high = static_cast<std::size_t>(above - dally::kShares.begin()), low = high - 1;
  const double part = (share - dally::kShares[low]) / (dally::kShares[high] - dally::kShares[low]);
  return of->seconds[low] * std::pow(of->seconds[high] / of->seconds[low], part);
}

}  // namespace

std::vector<Parameter> dally_like_parameters() {
  std::vector<Parameter> all{
      {"jobs", "500", "how many"},
      {"arrivals", "batch",
       "batch: all at the beginning; poisson: per_day, and without jobs of one GPU"},
      {"per_day", "59", "jobs a day, with arrivals=poisson"},
      {"load_time", "62", "time from being placed to running, at every start"},
      {"max_gpus", "56", "larger jobs are left out"}};
  return with_pause_parameters(std::move(all));
}

Expected<Workload> make_dally_like(Settings& settings, const Cluster& cluster, std::uint64_t seed) {
  const auto jobs = static_cast<std::size_t>(settings.whole("jobs", 1, 10'000'000));
  const bool is_batch = settings.choice("arrivals", kArrivals) == 0;
  const double gap_s = days(1).seconds() / settings.real("per_day", 0.001, 1e6);
  const Duration load = settings.duration("load_time");
  const auto max_gpus = static_cast<std::int32_t>(settings.whole("max_gpus", 1, 56));
  const Pauses pauses = read_pauses(settings);
  if (auto ok = settings.finish(); !ok) return tl::make_unexpected(ok.error());

  const std::span<const dally::Mix> mix = is_batch
                                              ? std::span<const dally::Mix>(dally::kBatchMix)
                                              : std::span<const dally::Mix>(dally::kPoissonMix);
  const std::span<const dally::Durations> classes =
      is_batch ? std::span<const dally::Durations>(dally::kBatchDurations)
               : std::span<const dally::Durations>(dally::kPoissonDurations);
  std::vector<double> weights;
  for (const dally::Mix& m : mix)
    weights.push_back(m.gpus <= std::min(max_gpus, cluster.total_gpus) ? m.jobs : 0);
  if (std::all_of(weights.begin(), weights.end(), [](double w) { return w == 0; }))
    return fail("dally-like: the cluster, or max_gpus, is too small for any of its jobs");

  Random arrivals = stream(seed, Stream::arrivals), demands = stream(seed, Stream::demands),
         durations = stream(seed, Stream::durations);
  Workload workload;
  double now_s = 0;
  for (std::size_t i = 0; i < jobs; ++i) {
    const dally::Mix& drawn = mix[demands.pick(weights)];
    Job job;
    job.workers = job.min_workers = job.max_workers = drawn.gpus;
    job.duration =
        job_duration(draw_seconds(classes, drawn.gpus, durations.uniform()) / drawn.gpus);
    job.estimate = job.duration;
    job.load = load;
    job.model = ModelId{static_cast<std::uint16_t>(workload.models.add(drawn.model))};
    job.iterations =
        static_cast<std::uint64_t>(std::max(1.0, job.duration.seconds() / drawn.iteration_s));
    if (!is_batch) now_s += arrivals.exponential(gap_s);
    if (auto ok = check_span(now_s); !ok) return tl::make_unexpected(ok.error());
    job.submit = Time{std::llround(now_s * 1e6)};
    workload.jobs.push_back(job);
  }
  set_pauses(pauses, workload);
  return workload;
}

}  // namespace trainyard
