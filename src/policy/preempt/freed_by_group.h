// How many GPUs there would be in each machine, or rack, if some jobs left: whether a gang that has
// to stay within one could have room at all, for two loads a job.
//
// Only GPUs are counted, and all that are in the group, so that where they do not suffice there is
// no room, and where they do the room finder has to be asked (yard/room.h): what is missing may be
// CPUs. Of thousands that could leave, those in the few groups that could have room are all that
// matter to it.
//
// Example: a gang of 4 that has to stay on one of m0 (1 free) and m1 (none free) could have room as
// soon as jobs of 3 GPUs are added on m0; one that was added on m1 does not matter to it.
#pragma once

#include <cstdint>
#include <vector>

#include "policy/preempt/held_place.h"
#include "yard/yard.h"

namespace trainyard {

class FreedByGroup {
 public:
  explicit FreedByGroup(const Yard& yard);

  /// Begins anew, for gangs that take GPUs of this kind and have to be in one group of this tier.
  void begin(KindId kind, std::size_t tier);
  /// For the same gangs.
  void clear();

  /// This one leaves as well, which runs. Returns how many GPUs there would be then in the group
  /// where it runs; of several, in that which would have most.
  std::int32_t add(JobId job, const HeldPlace& place) {
    const std::uint32_t group = group_of(place);
    return group != HeldPlace::kSeveral ? add_to(group, place.gpus) : add_shares(job);
  }

  /// Whether there would be so many GPUs in a group where this job runs.
  [[nodiscard]] bool has_beside(JobId job, const HeldPlace& place, std::int32_t gpus) const {
    const std::uint32_t group = group_of(place);
    return group != HeldPlace::kSeveral ? has(group, gpus) : has_beside_shares(job, gpus);
  }

 private:
  struct Group {
    std::uint32_t count = 0;  // the one in which it was looked at last
    std::int32_t gpus = 0;    // free, or held by those that leave
  };

  /// kSeveral: there is no one group.
  [[nodiscard]] std::uint32_t group_of(const HeldPlace& place) const {
    if (tier_ == kMachineTier) return place.machine;
    if (tier_ == kRackTier) return place.rack;
    if (racks_ == 0) return 0;
    return place.rack == HeldPlace::kSeveral ? place.rack : place.rack / racks_;
  }

  std::int32_t add_to(std::uint32_t group, std::int32_t gpus) {
    Group& g = groups_[group];
    const std::int32_t free = free_in(group);  // a load is less than a branch that nobody foresees
    g = {count_, (g.count == count_ ? g.gpus : free) + gpus};
    return g.gpus;
  }

  [[nodiscard]] bool has(std::uint32_t group, std::int32_t gpus) const {
    return groups_[group].count == count_ && groups_[group].gpus >= gpus;
  }

  /// Of a group of racks: no more than this.
  [[nodiscard]] std::int32_t free_in(std::uint32_t group) const {
    if (tier_ == kMachineTier) return yard_.free().on(MachineId{group}).gpus;
    return tier_ == kRackTier ? (*free_in_rack_)[group] : free_;
  }

  // Of jobs that are in several groups.
  std::int32_t add_shares(JobId job);
  [[nodiscard]] bool has_beside_shares(JobId job, std::int32_t gpus) const;
  [[nodiscard]] std::uint32_t group_of(MachineId machine) const;

  const Yard& yard_;
  std::vector<Group> groups_;  // there are no more than machines
  std::uint32_t count_ = 0;
  std::size_t tier_ = 0;
  std::uint32_t racks_ = 0;  // of a group of this tier; 0: it is no group of racks
  const std::vector<std::int32_t>* free_in_rack_ = nullptr;
  std::int32_t free_ = 0;
};

}  // namespace trainyard
