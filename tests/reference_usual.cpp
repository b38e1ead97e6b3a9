// preempt=smith of the reference: where jobs of so many GPUs have found room of late, and
// how fast they run in a place like that. Every start is listed, and counted whenever it matters.
#include <array>
#include <cmath>

#include "reference_state.h"

namespace trainyard::reference {
namespace {

/// Within a machine, within a rack, and anywhere.
constexpr std::size_t kTiers = 3;

std::size_t tier_of_pair(const Cluster& cluster, std::size_t a, std::size_t b) {
  if (a == b) return 0;
  return cluster.machines[a].rack == cluster.machines[b].rack ? 1 : 2;
}

/// Half of the gang on the first machine, half on the first that is so far away, or farther; all on
/// the first if there is none. Whether they fit there does not matter.
Spots typical_spots(const Cluster& cluster, std::int32_t workers, std::size_t tier) {
  Spots spots(cluster.machines.size());
  spots[0] = workers;
  for (std::size_t m = 1; tier > 0 && m < spots.size(); ++m) {
    if (tier_of_pair(cluster, 0, m) < tier) continue;
    spots[m] = workers / 2;
    spots[0] = workers - workers / 2;
    break;
  }
  return spots;
}

}  // namespace

/// On the slowest kind of GPU that it may get.
double State::pace_at(std::size_t j, std::size_t tier) const {
  const double slowest_kind = kind_pace(j, Spots(up.size()));
  if (model_of(j) == nullptr) return slowest_kind;
  const double work_s = job(j).duration.seconds() / static_cast<double>(job(j).iterations);
  const Spots spots = typical_spots(cluster, job(j).workers, tier);
  const Iteration there = iteration_of(cluster, *model_of(j), {spots, job(j).per_worker.gpus},
                                       work_s * slowest_kind, work_s);
  return there.total_s(there.most) / there.work_s;
}

/// Every start counts half as much after 64 more of that demand. Jobs of one worker are everywhere
/// in one place.
double State::usually_slower(std::size_t j, const Spots& spots, std::size_t first_starts) const {
  const double fade = std::exp2(-1.0 / 64);
  std::array<double, kTiers> counts{};
  const double here = pace_at(j, tier_of_spots(cluster, spots));
  double all = 0, more = 0;
  for (std::size_t s = 0; s < first_starts; ++s) {
    const Job& other = job(starts[s].job);
    if (other.workers == 1 || other.gpus() != job(j).gpus()) continue;
    for (double& count : counts) count *= fade;
    counts[tier_of_spots(cluster, starts[s].spots)] += 1;
  }
  for (std::size_t tier = 0; tier < kTiers; ++tier) {
    all += counts[tier];
    if (counts[tier] > 0) more += counts[tier] * (pace_at(j, tier) - here);
  }
  if (all == 0 || job(j).workers == 1) return 0;
  return more / all / here;
}

}  // namespace trainyard::reference
