// A workload like that of a real cluster: nine jobs of ten ask for one GPU, and the few large and
// long ones have most of the GPU time. See generate_philly_figures.h for where the figures are
// from.
//
// The duration is drawn by inverting the class's distribution function: a uniform share falls
// between two points of the table, the logarithm of the seconds is interpolated between theirs, and
// the result rounded up, as the log has whole seconds.
//
// Two thirds of the GPU time are in 1% of the jobs: the mean of 100,000 draws has a standard error
// of 3%. The arrivals are therefore stretched after the draw, so that the GPU time of the jobs
// drawn, over GPUs x time from first to last submission, is the load asked for.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "workload/generate/parts.h"
#include "workload/generate/philly_figures.h"

namespace trainyard {
namespace {

double draw_seconds(std::span<const philly::DurationPoint> points, double share) {
  const auto above = std::upper_bound(
      points.begin(), points.end(), share,
      [](double s, const philly::DurationPoint& point) { return s < point.share; });
  const philly::DurationPoint& high = *above;  // the last point's share is 1, and share < 1
  const philly::DurationPoint& low = *(above - 1);
  const double part = (share - low.share) / (high.share - low.share);
  return std::ceil(low.seconds * std::pow(high.seconds / low.seconds, part));
}

std::vector<Job> draw_jobs(const Basics& basics, std::int32_t max_gpus, double scale,
                           std::uint64_t seed) {
  std::vector<double> weights;
  for (const philly::Demand& demand : philly::kDemands)
    if (demand.gpus <= max_gpus) weights.push_back(demand.jobs);
  Random demands = stream(seed, Stream::demands);
  Random durations = stream(seed, Stream::durations);
  std::vector<Job> jobs;
  jobs.reserve(basics.jobs);
  for (std::size_t i = 0; i < basics.jobs; ++i) {
    const philly::Demand& demand = philly::kDemands[demands.pick(weights)];
    const double s = draw_seconds(demand.durations, durations.uniform());
    jobs.push_back(basics.gang(demand.gpus, job_duration(s * scale)));
  }
  return jobs;
}

/// The trial jobs are the smallest, and of those the shortest.
void mark_trials(double share, std::vector<Job>& jobs) {
  const auto count =
      static_cast<std::ptrdiff_t>(std::llround(share * static_cast<double>(jobs.size())));
  std::vector<std::uint32_t> order(jobs.size());
  std::iota(order.begin(), order.end(), 0);
  std::nth_element(order.begin(), order.begin() + count, order.end(),
                   [&](std::uint32_t a, std::uint32_t b) {
                     return std::tuple(jobs[a].gpus(), jobs[a].duration, a) <
                            std::tuple(jobs[b].gpus(), jobs[b].duration, b);
                   });
  for (auto i = order.begin(); i != order.begin() + count; ++i)
    jobs[*i].job_class = JobClass::trial;
}

/// A day's rhythm: jobs arrive at rate 1 - amplitude x cos(2 pi t / day), the quietest hour at the
/// start of the trace and the busiest half a day later.
class Rhythm {
 public:
  explicit Rhythm(double amplitude) : swing_s_(amplitude * kDay_s / (2 * std::numbers::pi)) {}

  /// Arrivals expected until t, at a mean rate of one a second.
  [[nodiscard]] double expected(double t) const {
    return t - swing_s_ * std::sin(2 * std::numbers::pi * t / kDay_s);
  }

  /// The t with expected(t) = arrivals; it never lies further from it than the swing.
  [[nodiscard]] double when(double arrivals) const {
    if (swing_s_ == 0) return arrivals;
    double low = arrivals - swing_s_, high = arrivals + swing_s_;
    while (high - low > 1e-6) {
      const double middle = (low + high) / 2;
      if (!(low < middle && middle < high)) break;
      (expected(middle) < arrivals ? low : high) = middle;
    }
    return std::max(0.0, (low + high) / 2);
  }

 private:
  static constexpr double kDay_s = 86'400;
  double swing_s_;
};

/// Poisson arrivals in the rhythm of the day, the first at 0 and the last at `span_s`.
void draw_arrivals(double span_s, const Rhythm& rhythm, std::uint64_t seed,
                   std::vector<Job>& jobs) {
  Random random = stream(seed, Stream::arrivals);
  std::vector<double> arrivals(jobs.size(), 0.0);
  for (std::size_t i = 1; i < jobs.size(); ++i)
    arrivals[i] = arrivals[i - 1] + random.exponential(1);
  const double stretch = jobs.size() < 2 ? 0 : rhythm.expected(span_s) / arrivals.back();
  Time last{0};  // the search for the instant is exact to a microsecond only: keep the order
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const Time when{std::llround(rhythm.when(arrivals[i] * stretch) * 1e6)};
    last = jobs[i].submit = std::max(last, when);
  }
}

}  // namespace

std::vector<Parameter> philly_like_parameters() {
  return {
      {"max_gpus", "0", "the log's larger demands are left out; 0: those the cluster cannot hold"},
      {"duration_scale", "1", "times the durations of the log"},
      {"daily", "0", "0 to 1: how much the rate of arrivals swings between midnight and noon"},
  };
}

Expected<Workload> make_philly_like(Settings& settings, const Cluster& cluster,
                                    std::uint64_t seed) {
  const Basics basics = read_basics(settings);
  const auto asked = static_cast<std::int32_t>(
      settings.whole("max_gpus", 0, std::numeric_limits<std::int32_t>::max()));
  const double scale = settings.real("duration_scale", 1e-9, 1e9);
  const Rhythm rhythm(settings.real("daily", 0, 1));
  if (auto ok = settings.finish(); !ok) return tl::make_unexpected(ok.error());

  const std::int32_t max_gpus =
      asked == 0 ? cluster.total_gpus : std::min(asked, cluster.total_gpus);
  Workload workload;
  workload.jobs = draw_jobs(basics, max_gpus, scale, seed);
  double gpu_s = 0;
  for (const Job& job : workload.jobs) gpu_s += job.gpus() * job.duration.seconds();
  const double span_s = gpu_s / (basics.load * cluster.total_gpus);
  if (auto ok = check_span(span_s); !ok) return tl::make_unexpected(ok.error());
  draw_arrivals(span_s, rhythm, seed, workload.jobs);
  mark_trials(basics.trial_share, workload.jobs);
  draw_users(basics.users, seed, workload);
  set_flexibility(basics.flexibility, seed, workload);
  set_pauses(basics.pauses, workload);
  return workload;
}

}  // namespace trainyard
