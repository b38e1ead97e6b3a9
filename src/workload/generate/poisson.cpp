// Poisson arrivals with independent demands and durations: the textbook's workload. With one GPU a
// job and exponential durations, a cluster of c GPUs that serves first come, first served is the
// M/M/c queue, whose waiting time Erlang's formula gives exactly.
//
// Jobs arrive at rate load x GPUs / (mean GPUs of a job x mean duration). The arrivals are left as
// drawn (they would no longer be Poisson if stretched), so the load is met in expectation.
#include <array>
#include <cmath>

#include "workload/generate/parts.h"

namespace trainyard {
namespace {

enum class LawKind : std::size_t { exponential, lognormal, fixed };
constexpr std::array<std::string_view, 3> kLawKinds{"exponential", "lognormal", "fixed"};

struct DurationLaw {
  LawKind shape = LawKind::exponential;
  double mean_s = 0;
  double sigma = 0;

  double draw(Random& random) const {
    switch (shape) {
      case LawKind::exponential:
        return random.exponential(mean_s);
      case LawKind::lognormal:
        return random.lognormal(std::log(mean_s) - sigma * sigma / 2, sigma);
      case LawKind::fixed:
        break;
    }
    return mean_s;
  }
};

DurationLaw read_law(Settings& settings) {
  DurationLaw law;
  law.shape = LawKind{settings.choice("duration", kLawKinds)};
  law.mean_s = settings.positive_duration("mean").seconds();
  law.sigma = settings.real("sigma", 0, 5);
  return law;
}

}  // namespace

std::vector<Parameter> poisson_parameters() {
  return {
      {"gpus", "1", "GPUs a job, or a mix with weights as in 1:0.7/2:0.1/4:0.1/8:0.1"},
      {"duration", "exponential", "exponential, lognormal or fixed"},
      {"mean", "1h", "mean duration"},
      {"sigma", "1", "of a lognormal duration: deviation of its logarithm"},
  };
}

Expected<Workload> make_poisson(Settings& settings, const Cluster& cluster, std::uint64_t seed) {
  const Basics basics = read_basics(settings);
  const DemandMix mix = settings.mix("gpus", cluster.total_gpus);
  const DurationLaw law = read_law(settings);
  if (auto ok = settings.finish(); !ok) return tl::make_unexpected(ok.error());

  const double mean_gap_s = mix.mean_gpus() * law.mean_s / (basics.load * cluster.total_gpus);
  Random arrivals = stream(seed, Stream::arrivals);
  Random demands = stream(seed, Stream::demands);
  Random durations = stream(seed, Stream::durations);
  Random classes = stream(seed, Stream::classes);
  Workload workload;
  workload.jobs.reserve(basics.jobs);
  double now_s = 0;
  for (std::size_t i = 0; i < basics.jobs; ++i) {
    now_s += arrivals.exponential(mean_gap_s);
    if (auto ok = check_span(now_s); !ok) return tl::make_unexpected(ok.error());
    Job job = basics.gang(mix.gpus[demands.pick(mix.weights)], job_duration(law.draw(durations)));
    job.submit = Time{std::llround(now_s * 1e6)};
    job.job_class = classes.uniform() < basics.trial_share ? JobClass::trial : JobClass::batch;
    workload.jobs.push_back(job);
  }
  draw_users(basics.users, seed, workload);
  set_flexibility(basics.flexibility, seed, workload);
  set_pauses(basics.pauses, workload);
  return workload;
}

}  // namespace trainyard
