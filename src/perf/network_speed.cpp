#include "perf/network_speed.h"

#include <algorithm>

#include "perf/speed.h"

namespace trainyard {
namespace {

constexpr MachineId kFirst{0};

}  // namespace

NetworkSpeed::NetworkSpeed(const Cluster& cluster, const Workload& workload,
                           const Catalogue& catalogue, DurationIs duration)
    : cluster_(cluster), workload_(workload), catalogue_(catalogue), duration_(duration) {
  away_.fill(kFirst);
  for (std::size_t m = cluster.machines.size(); m-- > 1;) {
    const MachineId machine{static_cast<std::uint32_t>(m)};
    const std::size_t tier = tier_of(cluster, {{kFirst, 1}, {machine, 1}});
    std::fill(away_.begin() + kRackTier, away_.begin() + static_cast<std::ptrdiff_t>(tier) + 1,
              machine);
  }
  look_up_models();
}

void NetworkSpeed::look_up_models() {
  while (profiles_.size() < workload_.models.size())
    profiles_.push_back(catalogue_.find(workload_.models[profiles_.size()]));
}

const ModelProfile* NetworkSpeed::profile(const Job& job) const {
  return index(job.model) < profiles_.size() ? profiles_[index(job.model)] : nullptr;
}

Rate NetworkSpeed::rate(const Job& job, const Placement& placement) const {
  if (profile(job) == nullptr || job.gpus() <= 1) return {};
  const double here = time_per_work(job, placement);
  if (duration_ == DurationIs::computing) return Rate::taking(here);
  return Rate::taking(std::max(1.0, here / time_per_work(job, {{kFirst, job.workers}})));
}

/// At least 1: an iteration with its communication, over computing alone.
double NetworkSpeed::time_per_work(const Job& job, const Placement& placement) const {
  const ModelProfile* model = profile(job);
  const double compute_s = job.iterations > 0
                               ? job.duration.seconds() / static_cast<double>(job.iterations)
                               : compute_time(catalogue_, *model, cluster_, placement,
                                              job.per_worker.gpus, Shares::equal);
  if (compute_s <= 0) return 1;
  const Spread spread = spread_of(cluster_, placement, job.per_worker.gpus);
  return std::max(1.0, iteration_time(*model, compute_s, spread).total_s() / compute_s);
}

/// Whatever these machines hold: the slowest link between them is what matters. All on the first
/// where the cluster has no machine so far away.
Placement NetworkSpeed::typical_placement(const Job& job, std::size_t tier) const {
  const std::int32_t half = (job.workers + 1) / 2;
  if (away_[tier] == kFirst || half == job.workers) return {{kFirst, job.workers}};
  return {{kFirst, half}, {away_[tier], job.workers - half}};
}

Rate NetworkSpeed::rate_at(const Job& job, std::size_t tier) const {
  return profile(job) == nullptr ? Rate{} : rate(job, typical_placement(job, tier));
}

}  // namespace trainyard
