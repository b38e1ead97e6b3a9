#include "reference_where.h"

namespace trainyard::reference {
namespace {

/// On each machine, of the jobs that are there or will be: time left x GPUs.
std::vector<Duration> work_on_machines(const State& state) {
  std::vector<Duration> work(state.up.size());
  for (std::size_t j = 0; j < state.trains.size(); ++j) {
    if (!state.holds(j) && state.trains[j].stage != Stage::reserved) continue;
    for (std::size_t m = 0; m < work.size(); ++m)
      work[m] +=
          state.left(j) * (std::int64_t{state.trains[j].spots[m]} * state.job(j).per_worker.gpus);
  }
  return work;
}

}  // namespace

std::optional<Spots> find_place(const State& state, const Settings& set, std::size_t j,
                                const Free& free) {
  const Gang gang = state.gang(j);
  if (set.place == "first-fit") return first_fit(gang, free);
  if (set.place == "best-fit") return best_fit(gang, free);
  if (set.place == "spread") return spread(gang, free);
  if (set.place == "lwf") {
    const std::vector<Duration> work = work_on_machines(state);
    if (state.job(j).gpus() > set.lwf_k) return least_work_filled(gang, free, work);
    return least_work_dealt(gang, free, work, state.left(j) * gang.each.gpus);
  }
  if (set.place == "delay")
    return closest(gang, free, state.free_for(j), state.cluster, state.trains[j].ready_tier);
  return consolidate(gang, free, state.free_for(j), state.cluster, max_machines(state, set, j));
}

std::int32_t max_machines(const State& state, const Settings& set, std::size_t j) {
  const bool waits = set.place == "consolidate" &&
                     (set.wait_for == "all" || (set.wait_for == "skewed" && state.is_skewed(j)));
  if (set.place == "delay" && state.trains[j].ready_tier == 0) return 1;
  if (!waits) return state.job(j).workers;
  const State empty(state.world, state.set);
  return fewest_machines_ever(state.gang(j), empty.free_for(j));
}

}  // namespace trainyard::reference
