#include "yard/room.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace trainyard {
namespace {

constexpr std::uint32_t kNoGroup = std::numeric_limits<std::uint32_t>::max();

}  // namespace

RoomFinder::RoomFinder(const Yard& yard)
    : yard_(yard),
      freed_(yard.cluster().machines.size()),
      candidate_of_(yard.cluster().machines.size(), -1),
      slots_(yard.cluster().machines.size()),
      needed_(yard.cluster().machines.size()) {}

void RoomFinder::reset(JobId waiter) {
  for (const MachineId machine : touched_) freed_[index(machine)] = {};
  for (const Candidate& candidate : candidates_) {
    candidate_of_[index(candidate.machine)] = -1;
    slots_[group_of(candidate.machine)] = 0;
  }
  touched_.clear();
  candidates_.clear();
  victims_.clear();
  room_.clear();
  waiter_ = waiter;
  shape_ = &yard_.shape(waiter);
}

void RoomFinder::begin(JobId waiter, Reach reach) {
  reset(waiter);
  reach_ = reach;
  // What is free already. The gang did not fit, so unless it is bound to few machines there are
  // fewer of these than it has workers.
  const CountIndex& machines = yard_.free().of(shape_->kind).machines;
  const auto gpus = static_cast<std::size_t>(shape_->per_worker.gpus);
  for (std::size_t m = machines.next(0, gpus); m != CountIndex::kNone;
       m = machines.next(m + 1, gpus))
    consider(MachineId{static_cast<std::uint32_t>(m)});
}

/// Of the tier within which the gang has to stay; there are no more of these than machines.
std::uint32_t RoomFinder::group_of(MachineId machine) const {
  const Cluster& cluster = yard_.cluster();
  if (reach_.tier >= cluster.tiers.size()) return 0;
  if (reach_.tier == kMachineTier) return static_cast<std::uint32_t>(machine);
  const auto rack = static_cast<std::uint32_t>(cluster.machine(machine).rack);
  if (reach_.tier == kRackTier) return rack;
  return trainyard::group_of(cluster.tiers[reach_.tier], rack);
}

bool RoomFinder::usable(MachineId machine) const {
  return yard_.free().is_up(machine) &&
         (shape_->kind == kAnyKind || yard_.cluster().machine(machine).kind == shape_->kind);
}

void RoomFinder::consider(MachineId machine) {
  const Resources room = yard_.free().on(machine) + freed_[index(machine)];
  const std::int32_t slots = shape_->fitting(machine, room, shape_->workers);
  if (slots == 0) return;
  std::int32_t& place = candidate_of_[index(machine)];
  if (place < 0) {
    place = static_cast<std::int32_t>(candidates_.size());
    candidates_.push_back({machine, 0});
  }
  Candidate& candidate = candidates_[static_cast<std::size_t>(place)];
  slots_[group_of(machine)] += slots - candidate.slots;
  candidate.slots = slots;
}

void RoomFinder::count_as_freed(JobId victim) {
  victims_.push_back(victim);
  const Placement& shares = yard_.placement(victim);
  for (std::size_t i = 0; i < shares.size(); ++i) {
    if (!usable(shares[i].machine)) continue;
    Resources& freed = freed_[index(shares[i].machine)];
    if (freed == Resources{}) touched_.push_back(shares[i].machine);
    freed += yard_.held(victim, i);
  }
}

void RoomFinder::settle(JobId waiter, std::span<const Share> room, std::span<const JobId> victims) {
  reset(waiter);
  room_.assign(room.begin(), room.end());
  for (const JobId victim : victims) count_as_freed(victim);
  if (victims.size() > 1) spare_the_unneeded();
}

bool RoomFinder::offer(JobId victim) {
  const std::uint32_t group = group_that_fits_with(victim);
  if (group == kNoGroup) return false;
  choose(group);
  spare_the_unneeded();
  return true;
}

bool RoomFinder::fits_with(JobId victim) {
  return group_that_fits_with(victim) != kNoGroup;
}

std::uint32_t RoomFinder::group_that_fits_with(JobId victim) {
  count_as_freed(victim);
  for (const Share& share : yard_.placement(victim))
    if (usable(share.machine)) consider(share.machine);
  std::uint32_t last = kNoGroup;
  for (const Share& share : yard_.placement(victim)) {
    const std::uint32_t group = group_of(share.machine);
    if (std::exchange(last, group) != group && fits_in(group)) return group;
  }
  return kNoGroup;
}

void RoomFinder::list_candidates_of(std::uint32_t group) {
  here_.clear();
  for (const Candidate& candidate : candidates_)
    if (group_of(candidate.machine) == group) here_.push_back(candidate);
}

bool RoomFinder::fits_in(std::uint32_t group) {
  if (slots_[group] < shape_->workers) return false;
  if (candidates_.size() <= static_cast<std::size_t>(reach_.machines)) return true;
  list_candidates_of(group);
  const auto most = static_cast<std::size_t>(reach_.machines);
  if (here_.size() <= most) return true;
  std::partial_sort(here_.begin(), here_.begin() + static_cast<std::ptrdiff_t>(most), here_.end(),
                    MostSlots{});
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < most; ++i) sum += here_[i].slots;
  return sum >= shape_->workers;
}

void RoomFinder::choose(std::uint32_t group) {
  list_candidates_of(group);
  // Each takes one worker at least.
  const auto most = std::min(std::ssize(here_), std::ptrdiff_t{shape_->workers});
  std::partial_sort(here_.begin(), here_.begin() + most, here_.end(), MostSlots{});
  std::int32_t left = shape_->workers;
  for (const Candidate& candidate : here_) {
    const std::int32_t taken = std::min(left, candidate.slots);
    room_.push_back({candidate.machine, taken});
    left -= taken;
    if (left == 0) return;
  }
}

/// True if the room would not hold its workers without what this job frees.
bool RoomFinder::is_needed(JobId victim) const {
  const Placement& shares = yard_.placement(victim);
  for (std::size_t s = 0; s < shares.size(); ++s) {
    const MachineId machine = shares[s].machine;
    const std::int32_t workers = needed_[index(machine)];
    if (workers == 0 || !usable(machine)) continue;
    const Resources rest =
        yard_.free().on(machine) + freed_[index(machine)] - yard_.held(victim, s);
    if (!(shape_->demand(machine) * workers).fits_in(rest)) return true;
  }
  return false;
}

/// Those offered last are spared first.
void RoomFinder::spare_the_unneeded() {
  for (const Share& share : room_) needed_[index(share.machine)] = share.workers;
  for (std::size_t i = victims_.size(); i-- > 0;) {
    const JobId victim = victims_[i];
    const Placement& shares = yard_.placement(victim);
    if (is_needed(victim)) continue;
    for (std::size_t s = 0; s < shares.size(); ++s)
      if (usable(shares[s].machine)) freed_[index(shares[s].machine)] -= yard_.held(victim, s);
    victims_[i] = kNoJob;
  }
  std::erase(victims_, kNoJob);
  for (const Share& share : room_) needed_[index(share.machine)] = 0;
}

}  // namespace trainyard
