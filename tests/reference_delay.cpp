#include "reference_delay.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <tuple>

namespace trainyard::reference {
namespace {

constexpr std::size_t kBins = 16, kFarthest = 2;

/// On the empty cluster.
std::size_t closest_ever(const State& state, std::size_t j) {
  const State empty(state.world, state.set);
  const Free all = empty.free_for(j);
  for (std::size_t m = 0; m < all.size(); ++m)
    if (first_fit(state.gang(j), only_machine(all, m))) return 0;
  for (std::size_t rack = 0; rack < state.cluster.racks.size(); ++rack)
    if (first_fit(state.gang(j), only_rack(all, state.cluster, rack))) return 1;
  return kFarthest;
}

/// The first bin of waits is a lease long, as is the second, each other one twice as the last.
Duration begin_of_bin(const Settings& set, std::size_t bin) {
  return bin == 0 ? Duration{} : set.delay_lease * (std::int64_t{1} << (bin - 1));
}

struct WaitBin {
  double waited_s = 0, served = 0;
};

/// By the waits of jobs of as many GPUs that could have had a place within this tier: how long they
/// waited in each bin, and how many had such a place in it. A wait counts half as much after 64
/// more.
std::array<WaitBin, kBins> life_table(const State& state, const Settings& set, std::size_t j,
                                      std::size_t tier) {
  std::array<WaitBin, kBins> bins{};
  for (const State::Wait& wait : state.waits) {
    if (state.job(wait.job).gpus() != state.job(j).gpus()) continue;
    if (closest_ever(state, wait.job) > tier) continue;
    for (std::size_t b = 0; b < kBins && begin_of_bin(set, b) <= wait.time; ++b) {
      const bool is_last = b + 1 == kBins || wait.time < begin_of_bin(set, b + 1);
      const Duration end = is_last ? wait.time : begin_of_bin(set, b + 1);
      bins[b].waited_s += (end - begin_of_bin(set, b)).seconds();
      if (is_last && wait.tier <= tier) bins[b].served += 1;
    }
    for (WaitBin& bin : bins) {
      bin.waited_s *= std::exp2(-1.0 / 64);
      bin.served *= std::exp2(-1.0 / 64);
    }
  }
  return bins;
}

/// Of one that has waited until this bin begins, with as many served in a bin as are level in it;
/// half a job that was served after a lease is known from the outset.
double still_to_wait_s(const std::array<WaitBin, kBins>& bins, const Settings& set,
                       std::size_t from) {
  double expected = 0, still_waits = 1;
  for (std::size_t b = from; b < kBins; ++b) {
    const double rate =
        (bins[b].served + 0.5) / (bins[b].waited_s + 0.5 * set.delay_lease.seconds());
    if (b + 1 == kBins) return expected + still_waits / rate;
    const double length_s = (begin_of_bin(set, b + 1) - begin_of_bin(set, b)).seconds();
    const double survives = std::exp(-rate * length_s);
    expected += still_waits * (1 - survives) / rate;
    still_waits *= survives;
  }
  return expected;
}

/// How long it holds out for this tier: as long as it gains more by that than it can expect to
/// wait.
Duration holds_out_for(const State& state, const Settings& set, std::size_t j, std::size_t tier) {
  const double slower = state.pace_at(j, tier + 1) - state.pace_at(j, tier);
  const double gain_s = slower * state.left(j).seconds();
  const auto bins = life_table(state, set, j, tier);
  for (std::size_t b = 0; b < kBins; ++b)
    if (still_to_wait_s(bins, set, b) >= gain_s) return begin_of_bin(set, b);
  return Duration::max();
}

void move_on(State& state, const Settings& set, std::size_t j) {
  Train& train = state.trains[j];
  train.ready_until = Time::never();
  for (; train.ready_tier < kFarthest; ++train.ready_tier) {
    const Time until = train.since + holds_out_for(state, set, j, train.ready_tier);
    if (until <= state.now) continue;
    train.ready_until = until;
    return;
  }
}

}  // namespace

/// Those that took most workers first; if it was placed, those of the rack that had most free GPUs.
void State::note_filled(std::size_t j, bool rack_by_rack) {
  Train& train = trains[j];
  train.filled.clear();
  for (std::size_t m = 0; m < train.spots.size(); ++m)
    if (train.spots[m] > 0) train.filled.push_back(m);
  const Free free = free_for(j);
  const auto key = [&](std::size_t m) {
    const std::size_t rack = rack_by_rack ? index(cluster.machines[m].rack) : 0;
    std::int32_t gpus = 0;
    for (std::size_t other = 0; other < free.size(); ++other)
      if (rack_by_rack && free[other] && index(cluster.machines[other].rack) == rack)
        gpus += free[other]->gpus;
    return std::tuple(-gpus, rack, -train.spots[m], m);
  };
  std::ranges::sort(train.filled, {}, key);
}

void begin_to_hold_out(State& state, const Settings& set, std::size_t j) {
  state.trains[j].ready_tier = closest_ever(state, j);
  move_on(state, set, j);
}

Time look_again(State& state, const Settings& set) {
  Time next = Time::never();
  for (const std::size_t j : state.in(Stage::queued)) {
    if (state.trains[j].ready_until <= state.now) move_on(state, set, j);
    next = std::min(next, state.trains[j].ready_until);
  }
  return next;
}

}  // namespace trainyard::reference
