#include "reference_preempt.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <tuple>

#include "reference_where.h"
#include "reference_worth.h"

namespace trainyard::reference {

bool Preemption::make_room(std::size_t j) {
  if (set_.preempt == "fitgpp") return make_room_by_score(j);
  if (set_.preempt == "benefit") return make_room_by_gain(j);
  if (set_.preempt == "smith") return make_room_by_rank(j);
  Jobs leaving;
  Time retry = Time::never();
  for (const std::size_t victim : would_rather_see_leave(j)) {
    const Time from = pausable_from(victim, j);
    if (from > state_.now) {
      retry = std::min(retry, from);
      continue;
    }
    leaving.push_back(victim);
    if (const auto room = room_by(j, leaving)) {
      if (!may_take_(j, room->spots, room->victims)) break;
      state_.reserve(j, room->spots, room->victims);
      return true;
    }
  }
  retry_at(retry);
  return false;
}

/// Of a job that holds GPUs: how much of its machines it takes.
double Preemption::size(std::size_t j) const {
  double size = 0;
  for (std::size_t m = 0; m < state_.up.size(); ++m) {
    const Resources& held = state_.trains[j].held[m];
    const Resources& all = state_.cluster.machines[m].capacity;
    const auto part = [](std::int32_t some, std::int32_t of) {
      return of == 0 ? 0.0 : static_cast<double>(some) / of;
    };
    size += std::hypot(part(held.gpus, all.gpus), part(held.milli_cpus, all.milli_cpus),
                       part(held.memory_mib, all.memory_mib));
  }
  return size;
}

/// The batch job with the least score whose leaving lets the trial job, a single worker, onto its
/// machine; on the first such machine, there the last submitted.
bool Preemption::make_room_by_score(std::size_t j) {
  if (!state_.acts_as_trial(j)) return false;
  struct Candidate {
    std::size_t machine, job;
  };
  std::vector<Candidate> candidates;
  double largest_size = 0, largest_pause = 0;
  const auto pause = [&](std::size_t v) { return state_.job(v).expected_pause().seconds(); };
  const auto count = [&](std::size_t v) {
    largest_size = std::max(largest_size, size(v));
    largest_pause = std::max(largest_pause, pause(v));
  };
  for (const std::size_t v : state_.in(Stage::running)) {
    if (state_.acts_as_trial(v)) continue;
    if (!set_.over_candidates) count(v);
    const Time from = pausable_from(v, j);
    if (from > state_.now) retry_at(from);
    if (from > state_.now || state_.trains[v].pauses >= set_.most_pauses) continue;
    for (std::size_t m = 0; m < state_.up.size(); ++m) {
      if (state_.trains[v].spots[m] == 0 || !state_.suits(j, m)) continue;
      const std::optional<Resources> demand = state_.each_on(j, m);
      if (!demand || !demand->fits_in(state_.free_on(m) + state_.trains[v].held[m])) continue;
      candidates.push_back({m, v});
      if (set_.over_candidates) count(v);
    }
  }
  if (candidates.empty()) return false;
  const auto score = [&](const Candidate& c) {
    const double by_size = largest_size > 0 ? 1 / largest_size * size(c.job) : 0;
    const double by_pause = largest_pause > 0 ? set_.s / largest_pause * pause(c.job) : 0;
    return by_size + by_pause;
  };
  const Candidate best = *std::min_element(
      candidates.begin(), candidates.end(), [&](const Candidate& a, const Candidate& b) {
        if (score(a) != score(b)) return score(a) < score(b);
        return a.machine != b.machine ? a.machine < b.machine : a.job > b.job;
      });
  Spots spots(state_.up.size());
  spots[best.machine] = 1;
  state_.reserve(j, spots, {best.job});
  return true;
}

PauseCase::Victim Preemption::pause_terms(std::size_t victim) const {
  const Job& job = state_.job(victim);
  const auto left = static_cast<double>((state_.leaves_at(victim) - state_.now).us);
  const Train& train = state_.trains[victim];
  const double slower =
      set_.preempt == "smith" ? state_.usually_slower(victim, train.spots, train.starts_before) : 0;
  return {left,
          static_cast<double>(job.expected_pause().us),
          static_cast<double>(job.load.us),
          std::max(static_cast<double>(job.gpus()), 1.0),
          worth(state_, victim),
          std::floor(std::max(left * slower, 0.0))};
}

PauseCase Preemption::pause_case(std::size_t waiter) const {
  const Job& job = state_.job(waiter);
  PauseCase set{static_cast<double>(state_.left(waiter).us),
                static_cast<double>(job.load.us),
                worth(state_, waiter),
                static_cast<double>(state_.in(Stage::queued).size() - 1),
                std::max(static_cast<double>(state_.cluster.total_gpus), 1.0),
                ends_until(waiter),
                state_.recent_load()};
  if (set_.preempt == "smith") {  // the slowest place that it takes
    double slowest = 0;
    const std::size_t farthest = set_.place == "delay" ? state_.trains[waiter].ready_tier : 2;
    for (std::size_t tier = 0; tier <= farthest; ++tier)
      slowest = std::max(slowest, state_.pace_at(waiter, tier));
    set.remaining = std::floor(set.remaining * slowest);
  }
  return set;
}

/// How long until the jobs that have ended, and what is free, leave the waiter GPUs enough on one
/// of the machines, or in one of the racks, where one of them ran. Nothing but GPUs counts.
double Preemption::ends_until(std::size_t waiter) const {
  const std::size_t tier = set_.place == "delay" ? state_.trains[waiter].ready_tier : 2;
  const auto group = [&](std::size_t m) {
    return tier == 0 ? m : tier == 1 ? index(state_.cluster.machines[m].rack) : 0;
  };
  std::vector<std::int64_t> gpus(state_.up.size() + state_.cluster.racks.size());
  for (std::size_t m = 0; m < state_.up.size(); ++m)
    if (state_.up[m]) gpus[group(m)] += state_.free_on(m).gpus;
  for (const std::size_t j : by_end()) {
    const double left = pause_terms(j).left;
    if (state_.trains[j].stage != Stage::running || left <= 0) continue;
    for (const std::size_t m : state_.trains[j].filled)
      gpus[group(m)] += state_.trains[j].held[m].gpus;
    for (const std::size_t m : state_.trains[j].filled)
      if (gpus[group(m)] >= std::max(state_.job(waiter).gpus(), 1)) return left;
  }
  return std::numeric_limits<double>::infinity();
}

/// The waiter runs as long as this very room makes it.
PauseCase Preemption::gain_by(const PauseCase& empty, std::size_t waiter, const Room& room) const {
  PauseCase set = empty;
  for (const std::size_t v : room.victims) set.victims.push_back(pause_terms(v));
  if (set_.preempt != "smith") return set;
  set.remaining =
      std::floor(static_cast<double>(state_.left(waiter).us) * state_.pace_on(waiter, room.spots));
  set.gpus = static_cast<double>(state_.job(waiter).gpus());
  set.saved = set.remaining * state_.usually_slower(waiter, room.spots, state_.starts.size());
  double freed = 0;
  for (const PauseCase::Victim& v : set.victims) freed += v.gpus;
  set.part = std::min(std::max(set.gpus, 1.0) / freed, 1.0);
  return set;
}

/// The jobs whose pauses would gain most, by what each would gain alone times its width, until
/// there is room; if all of them together gain anything.
/// Of the first so many, those whose pause alone pays: the widest gain first.
Jobs Preemption::those_that_pay(const PauseCase& empty, std::size_t j, const Jobs& longest_first,
                                std::size_t pool) const {
  Jobs would_pay;
  for (std::size_t i = 0; i < std::min(pool, longest_first.size()); ++i) {
    const std::size_t v = longest_first[i];
    if (pausable_from(v, j) <= state_.now && empty.gain_alone(pause_terms(v)) > 0)
      would_pay.push_back(v);
  }
  const auto gain = [&](std::size_t v) {
    return empty.gain_alone(pause_terms(v)) * width(state_, v);
  };
  std::ranges::sort(would_pay, std::greater<>{},
                    [&](std::size_t v) { return std::tuple(gain(v), state_.leaves_at(v), v); });
  return would_pay;
}

bool Preemption::make_room_by_gain(std::size_t j) {
  const PauseCase empty = pause_case(j);
  const auto own = static_cast<double>(state_.left(j).us);
  Jobs longest_first;  // of those that any job might pause
  Time retry = Time::never();
  for (const std::size_t v : state_.in(Stage::running)) {
    const double most = empty.price * pause_terms(v).left - (own + empty.load);
    const Time from = pausable_from(v, j);
    if (most > 0 && from > state_.now) retry = std::min(retry, from);
    const Train& train = state_.trains[v];
    if (train.pauses < set_.max_pauses && set_.min_run != Duration::max() &&
        train.since + set_.min_run <= state_.now)
      longest_first.push_back(v);
  }
  std::ranges::sort(longest_first, std::greater<>{},
                    [&](std::size_t v) { return std::tuple(state_.leaves_at(v), v); });
  std::optional<Room> room;
  for (std::size_t pool = 64; !room; pool *= 2) {
    room = room_by(j, those_that_pay(empty, j, longest_first, pool));
    if (pool >= longest_first.size()) break;
  }
  if (room && gain_by(empty, j, *room).gain() >= 0 && may_take_(j, room->spots, room->victims)) {
    state_.reserve(j, room->spots, room->victims);
    return true;
  }
  retry_at(retry);
  return false;
}

/// Whether the waiter ranks before the victim with the costs of the pause included.
bool Preemption::ranks_before(const PauseCase& w, std::size_t waiter, std::size_t victim) const {
  const PauseCase::Victim v = pause_terms(victim);
  const double own_width = width(state_, waiter), wide = width(state_, victim);
  const double lost = v.leave + v.load + v.moved;
  const double gpus = std::max(static_cast<double>(state_.job(waiter).gpus()), 1.0);
  const double own = v.price * (w.load + lost);
  const double others = w.delayed() / w.cluster_gpus * v.gpus * lost * std::min(gpus / v.gpus, 1.0);
  return w.price * wide * (v.left - v.leave) >
         v.price * own_width * w.remaining + std::min(own_width, wide) * own + wide * others;
}

/// Those that rank behind the job, the most service left first, until there is room.
bool Preemption::make_room_by_rank(std::size_t j) {
  const PauseCase empty = pause_case(j);
  const double own_width = width(state_, j);
  const auto service = [&](std::size_t v) { return pause_terms(v).left * width(state_, v); };
  const auto work = static_cast<double>(state_.left(j).us);
  const double least = std::min(work, std::floor(work * state_.pace_at(j, 0)));
  Jobs behind;
  Time retry = Time::never();
  for (const std::size_t v : state_.in(Stage::running)) {
    const Time from = pausable_from(v, j);
    if (from > state_.now && service(v) > std::floor(least * own_width / empty.price))
      retry = std::min(retry, from);
    if (from <= state_.now && ranks_before(empty, j, v)) behind.push_back(v);
  }
  std::ranges::sort(behind, std::greater<>{},
                    [&](std::size_t v) { return std::tuple(service(v), v); });
  const std::optional<Room> room = room_by(j, behind);
  if (room && gain_by(empty, j, *room).gain() >= 0 && may_take_(j, room->spots, room->victims)) {
    state_.reserve(j, room->spots, room->victims);
    return true;
  }
  retry_at(retry);
  return false;
}

Jobs Preemption::would_rather_see_leave(std::size_t waiter) const {
  Jobs jobs = by_end();
  std::reverse(jobs.begin(), jobs.end());
  const auto keep_if = [&](auto wanted) {
    std::erase_if(jobs, [&](std::size_t j) { return !wanted(j); });
  };
  if (set_.preempt == "none" || set_.preempt == "lease" || set_.preempt == "closer") return {};
  if (set_.preempt == "srtf-blind") {
    const Time end = state_.now + state_.left(waiter);
    keep_if([&](std::size_t j) { return state_.leaves_at(j) > end; });
  }
  if (set_.preempt == "srsf-blind") {
    const auto service = [&](std::size_t j) {
      return (state_.leaves_at(j) - state_.now).us * state_.job(j).gpus();
    };
    const std::int64_t own = state_.left(waiter).us * state_.job(waiter).gpus();
    keep_if([&](std::size_t j) { return service(j) > own; });
    std::sort(jobs.begin(), jobs.end(), [&](std::size_t a, std::size_t b) {
      return std::pair(service(a), a) > std::pair(service(b), b);
    });
  }
  if (set_.preempt == "longest-remaining") {
    if (!state_.acts_as_trial(waiter)) return {};
    keep_if([&](std::size_t j) {
      return !state_.acts_as_trial(j) && state_.leaves_at(j) > state_.now;
    });
  }
  if (set_.preempt == "by-level") {
    const auto level = [&](std::size_t j) {
      return set_.order == "las" ? state_.trains[j].level : 0;
    };
    keep_if([&](std::size_t j) { return level(j) > level(waiter); });
    std::sort(jobs.begin(), jobs.end(), [&](std::size_t a, std::size_t b) {
      return std::pair(level(a), a) > std::pair(level(b), b);
    });
  }
  return jobs;
}

Time Preemption::pausable_from(std::size_t victim, std::size_t waiter) const {
  const Train& train = state_.trains[victim];
  if (train.stage != Stage::running || train.pauses >= set_.max_pauses) return Time::never();
  Duration least = set_.min_run, turn = set_.turn;
  for (std::size_t n = state_.trains[waiter].gave_way_to.count(victim); n > 0; --n) {
    least = std::max(least, turn);
    turn = turn * 2;
  }
  return least == Duration::max() ? Time::never() : train.since + least;
}

Jobs Preemption::by_end(End end) const {
  Jobs jobs;
  for (std::size_t j = 0; j < state_.trains.size(); ++j)
    if (state_.holds(j) && state_.trains[j].stage != Stage::draining) jobs.push_back(j);
  std::stable_sort(jobs.begin(), jobs.end(), [&](std::size_t a, std::size_t b) {
    return (state_.*end)(a) < (state_.*end)(b);
  });
  return jobs;
}

/// Of what this one has freed too. A job that stays within a machine or a rack goes to the first
/// of its machines or racks that suffices.
std::optional<Spots> Preemption::within_reach(std::size_t waiter, std::size_t freed_by,
                                              const Free& free) const {
  const Gang gang = state_.gang(waiter);
  const std::int32_t machines = max_machines(state_, set_, waiter);
  const std::size_t tier = set_.place == "delay" ? state_.trains[waiter].ready_tier : 2;
  if (tier == 2) return most_slots_first(gang, free, machines);
  for (const std::size_t m : state_.trains[freed_by].filled) {
    const Free there =
        tier == 0 ? only_machine(free, m)
                  : only_rack(free, state_.cluster, index(state_.cluster.machines[m].rack));
    if (const auto spots = most_slots_first(gang, there, machines)) return spots;
  }
  return {};
}

/// The gang's room as soon as enough of these, in their order, would have left; and who of them has
/// to, those at the end of the list being spared first.
std::optional<Preemption::Room> Preemption::room_by(std::size_t waiter, const Jobs& leaving) const {
  Free free = state_.free_for(waiter);
  const auto change = [&](std::size_t j, std::int32_t sign) {
    for (std::size_t m = 0; m < free.size(); ++m)
      if (free[m]) *free[m] += state_.trains[j].held[m] * sign;
  };
  Room room;
  for (const std::size_t j : leaving) {
    change(j, 1);
    room.victims.push_back(j);
    const auto spots = within_reach(waiter, j, free);
    if (!spots) continue;
    room.spots = *spots;
    const auto still_fits = [&] {
      for (std::size_t m = 0; m < free.size(); ++m)
        if (free[m] && !state_.taken(waiter, m, room.spots[m]).fits_in(*free[m])) return false;
      return true;
    };
    for (std::size_t i = room.victims.size(); i-- > 0;) {
      const std::size_t victim = room.victims[i];
      change(victim, -1);
      if (still_fits()) {
        room.victims.erase(room.victims.begin() + static_cast<std::ptrdiff_t>(i));
      } else {
        change(victim, 1);
      }
    }
    return room;
  }
  return {};
}

}  // namespace trainyard::reference
