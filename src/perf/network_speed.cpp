#include "perf/network_speed.h"

#include <algorithm>
#include <iterator>

#include "perf/speed.h"

namespace trainyard {
namespace {

/// Half of the gang on the first machine, half on the next one that is as far away as this tier
/// reaches, whatever these machines hold: the slowest link between them is what matters.
Placement typical_placement(const Cluster& cluster, const Job& job, std::size_t tier) {
  constexpr MachineId kFirst{0};
  const std::int32_t half = (job.workers + 1) / 2;
  for (std::uint32_t m = 1;
       tier > kMachineTier && half < job.workers && m < cluster.machines.size(); ++m) {
    const Placement halves{{kFirst, half}, {MachineId{m}, job.workers - half}};
    if (tier_of(cluster, halves) >= tier) return halves;
  }
  return {{kFirst, job.workers}};
}

}  // namespace

NetworkSpeed::NetworkSpeed(const Cluster& cluster, const Workload& workload,
                           const Catalogue& catalogue)
    : cluster_(cluster), catalogue_(catalogue) {
  std::size_t i = 0;
  std::generate_n(std::back_inserter(profiles_), workload.models.size(),
                  [&] { return catalogue.find(workload.models[i++]); });
}

const ModelProfile* NetworkSpeed::profile(const Job& job) const {
  return index(job.model) < profiles_.size() ? profiles_[index(job.model)] : nullptr;
}

double NetworkSpeed::slowdown(const Job& job, const Placement& placement) const {
  const ModelProfile* model = profile(job);
  if (model == nullptr || job.gpus() <= 1) return 1;
  const double compute_s = job.iterations > 0
                               ? job.duration.seconds() / static_cast<double>(job.iterations)
                               : compute_time(catalogue_, *model, cluster_, placement,
                                              job.per_worker.gpus, Shares::equal);
  if (compute_s <= 0) return 1;
  const Spread spread = spread_of(cluster_, placement, job.per_worker.gpus);
  return std::max(1.0, iteration_time(*model, compute_s, spread).total_s() / compute_s);
}

double NetworkSpeed::slowdown_at(const Job& job, std::size_t tier) const {
  return slowdown(job, typical_placement(cluster_, job, tier));
}

}  // namespace trainyard
