#include "reference_rooms.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "reference_worth.h"

namespace trainyard::reference {
namespace {

double times(const Resources& free, const Resources& each) {
  double least = std::numeric_limits<double>::infinity();
  const auto count = [&](std::int32_t have, std::int32_t need) {
    if (need > 0) least = std::min(least, static_cast<double>(have) / need);
  };
  count(free.gpus, each.gpus);
  count(free.milli_cpus, each.milli_cpus);
  count(free.memory_mib, each.memory_mib);
  return least;
}

double mean(const std::vector<double>& all) {
  double sum = 0;
  for (const double each : all) sum += each;
  return all.empty() ? 0 : sum / static_cast<double>(all.size());
}

}  // namespace

bool TrialRooms::asks_for(std::size_t j, KindId kind) const {
  return state_.job(j).gpus() > 0 && state_.job(j).kind == kind;
}

/// All that came as such, and ask for GPUs of this kind. The reference sees no more than 64.
Jobs TrialRooms::trial_jobs(KindId kind) const {
  Jobs jobs;
  for (std::size_t j = 0; j < state_.trains.size(); ++j)
    if (state_.trains[j].stage != Stage::absent && state_.trains[j].came_as_trial &&
        asks_for(j, kind))
      jobs.push_back(j);
  return jobs;
}

std::vector<KindId> TrialRooms::kinds() const {
  std::set<KindId> all;
  for (std::size_t j = 0; j < state_.trains.size(); ++j) all.insert(state_.job(j).kind);
  return {all.begin(), all.end()};
}

/// How many such gangs this part of the cluster would have room for by its numbers, if all were
/// free but what another job has.
std::int32_t TrialRooms::times_in_all(const Resources& each, std::int32_t workers, double part,
                                      std::optional<std::size_t> beside) const {
  double gpus = 0, cpus = 0, memory = 0;
  for (const Machine& machine : state_.cluster.machines) {
    const bool suits =
        !beside || state_.job(*beside).kind == kAnyKind || state_.job(*beside).kind == machine.kind;
    gpus += suits ? machine.capacity.gpus : 0;
    cpus += machine.capacity.milli_cpus;
    memory += machine.capacity.memory_mib;
  }
  if (beside) {
    const Gang gang = state_.gang(*beside);
    gpus -= state_.job(*beside).gpus();
    cpus -= 1.0 * gang.workers * gang.each.milli_cpus;
    memory -= 1.0 * gang.workers * gang.each.memory_mib;
  }
  double most = 64;
  const auto bound = [&](double have, std::int32_t need) {
    if (need > 0) most = std::min(most, std::floor(std::max(have, 0.0) * part / need / workers));
  };
  bound(gpus, each.gpus), bound(cpus, each.milli_cpus), bound(memory, each.memory_mib);
  return static_cast<std::int32_t>(most);
}

/// One that each of them fits in, unless it asks for more than an eighth of the cluster.
Gang TrialRooms::room(const Jobs& trials) const {
  Gang room{{}, 0};
  for (const std::size_t j : trials) {
    const Resources each = state_.gang(j).each;
    if (times_in_all(each, state_.job(j).workers, 1.0 / 8, {}) < 1) continue;
    room.each.gpus = std::max(room.each.gpus, each.gpus);
    room.each.milli_cpus = std::max(room.each.milli_cpus, each.milli_cpus);
    room.each.memory_mib = std::max(room.each.memory_mib, each.memory_mib);
    room.workers = std::max(room.workers, state_.job(j).workers);
  }
  return room;
}

/// Of those that had to wait.
std::vector<double> TrialRooms::waits(KindId kind) const {
  std::vector<double> all;
  for (std::size_t j = 0; j < state_.trains.size(); ++j)
    if (const Train& train = state_.trains[j];
        train.started_as_trial && train.first_wait > Duration{} && asks_for(j, kind))
      all.push_back(std::min(train.first_wait, minutes(10)).seconds());
  return all;
}

double TrialRooms::back_after_s(const Jobs& trials) const {
  const KindId kind = state_.job(trials.front()).kind;
  const std::vector<double> waited = waits(kind);
  std::vector<double> runs;
  for (std::size_t j = 0; j < state_.trains.size(); ++j)
    if (const Train& train = state_.trains[j];
        train.stage == Stage::done && train.is_trial && asks_for(j, kind))
      runs.push_back((train.since - train.first_start).seconds());
  double freed = 0, a_second = 0;
  Time first = Time::never();
  for (std::size_t j = 0; j < state_.trains.size(); ++j) {
    if (state_.trains[j].stage != Stage::done || state_.acts_as_trial(j) ||
        state_.job(j).gpus() == 0)
      continue;
    freed += state_.job(j).gpus();
    first = std::min(first, state_.trains[j].since);
  }
  const Gang gang = room(trials);
  if (!runs.empty()) a_second = 1 / std::max(mean(runs), 1e-6);
  if (freed > 0)
    a_second +=
        freed / (gang.workers * gang.each.gpus) / std::max((state_.now - first).seconds(), 1e-6);
  return a_second == 0 ? mean(waited) : std::max(1 / a_second, mean(waited));
}

/// How many rooms are kept from this job.
std::int32_t TrialRooms::number(const Jobs& trials, std::size_t from) const {
  const std::vector<double> waited = waits(state_.job(trials.front()).kind);
  const Gang gang = room(trials);
  if (trials.size() < 2 || waited.empty() || gang.workers == 0) return 0;
  const double span_s = (state_.now - state_.job(trials.front()).submit).seconds();
  const double silence_s = (state_.now - state_.job(trials.back()).submit).seconds();
  const double between_s =
      std::max({span_s / static_cast<double>(trials.size() - 1), silence_s / 4, 1e-6});
  const double idle = 1 + std::max(state_.job(from).gpus(), 1) * gpu_second(state_);
  const double come = back_after_s(trials) / between_s;
  const std::int32_t most = std::min({times_in_all(gang.each, gang.workers, 1.0 / 8, {}), 64,
                                      times_in_all(gang.each, gang.workers, 1, from)});
  double fewer = 0, exactly = std::exp(-come);
  for (std::int32_t n = 0;; ++n) {
    const double worth = set_.trial_worth * mean(waited) / between_s * (1 - fewer);
    if (n == most || worth < idle) return n;
    fewer += exactly;
    exactly *= come / (n + 1);
  }
}

std::vector<TrialRooms::Site> TrialRooms::sites_for(const Jobs& trials) const {
  std::vector<std::size_t> machines;
  for (std::size_t m = 0; m < state_.up.size(); ++m)
    if (state_.suits(trials.front(), m) && state_.free_on(m).gpus > 0) machines.push_back(m);
  std::stable_sort(machines.begin(), machines.end(), [&](std::size_t a, std::size_t b) {
    return state_.free_on(a).gpus > state_.free_on(b).gpus;
  });
  std::vector<Site> sites;
  for (const std::size_t m : machines)
    if (const double rooms = times(state_.free_on(m), room(trials).each); rooms > 0)
      sites.push_back({m, rooms});
  std::stable_sort(sites.begin(), sites.end(),
                   [](const Site& a, const Site& b) { return a.rooms > b.rooms; });
  return sites;
}

std::vector<TrialRooms::Kept> TrialRooms::kept_from(std::size_t j) {
  std::vector<Kept> all;
  for (const KindId kind : kinds()) {
    const Jobs trials = trial_jobs(kind);
    std::int32_t workers = trials.empty() ? 0 : number(trials, j) * room(trials).workers;
    if (workers == 0) continue;
    if (!sites_.contains(kind)) sites_[kind] = sites_for(trials);
    for (const Site& site : sites_[kind]) {
      if (workers <= 0) break;
      const std::int32_t here =
          std::min(std::max(static_cast<std::int32_t>(site.rooms), 1), workers);
      all.push_back({kind, site.machine, room(trials).each, std::min(site.rooms, 1.0 * here)});
      workers -= here;
    }
  }
  return all;
}

bool TrialRooms::are_left_by(std::size_t j, const Spots& spots, const Jobs& leaving) {
  std::vector<Resources> then;
  std::vector<bool> changes;
  for (std::size_t m = 0; m < state_.up.size(); ++m) {
    then.push_back(state_.free_on(m) - state_.taken(j, m, spots[m]));
    changes.push_back(spots[m] > 0);
    for (const std::size_t victim : leaving) {
      then[m] += state_.trains[victim].held[m];
      changes[m] = changes[m] || state_.trains[victim].spots[m] > 0;
    }
  }
  for (const Kept& kept : kept_from(j)) {
    if (!changes[kept.machine] || times(then[kept.machine], kept.each) >= kept.rooms) continue;
    const Jobs trials = trial_jobs(kept.kind);
    int whole = 0;
    for (const Site& site : sites_[kept.kind])
      whole += std::max(static_cast<int>(times(then[site.machine], kept.each)), 0);
    if (whole < number(trials, j) * room(trials).workers) return false;
  }
  return true;
}

Free TrialRooms::outside(std::size_t j, Free free) {
  for (const Kept& kept : kept_from(j)) free[kept.machine].reset();
  return free;
}

Time TrialRooms::next_look() const {
  Time next = Time::never();
  for (const KindId kind : kinds())
    if (const Jobs trials = trial_jobs(kind); !trials.empty())
      next = std::min(
          next, state_.now + std::max(state_.now - state_.job(trials.back()).submit, minutes(1)));
  return next;
}

}  // namespace trainyard::reference
