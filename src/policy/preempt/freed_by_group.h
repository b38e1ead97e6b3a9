// How many GPUs there would be in each machine, or rack, if some jobs left: whether a gang that has
// to stay within one could have room at all, for two loads a job.
//
// Only GPUs are counted, and all that are in the group, so that where they do not suffice there is
// no room, and where they do the room finder has to be asked (yard/room.h): what is missing may be
// CPUs. Of thousands that could leave, those in the few groups that could have room are all that
// matter to it.
//
// Example: a gang of 4 that has to stay on one of m0 (1 free) and m1 (none free) could have room as
// soon as jobs of 3 GPUs are added on m0; one that was added on m1 does not matter.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "yard/room.h"
#include "yard/yard.h"

namespace trainyard {

class FreedByGroup {
 public:
  explicit FreedByGroup(const Yard& yard);

  /// The job has begun to run.
  void note_place(JobId job);

  /// Begins anew, for a gang of this shape.
  void begin(const Shape& shape, Reach reach);
  /// For the same gang.
  void clear();

  /// This one leaves as well, which runs. True: there could be room in one more group of those that
  /// somebody leaves.
  bool add(JobId job) {
    const Place& place = places_[index(job)];
    const std::uint32_t group = group_of(place);
    return group != kSeveral ? add_to(group, place.gpus) : add_shares(job);
  }

  /// Whether there could be room in a group where this job runs.
  [[nodiscard]] bool matters(JobId job) const {
    const std::uint32_t group = group_of(places_[index(job)]);
    return group != kSeveral ? could_have_room(group) : has_share_that_matters(job);
  }

 private:
  static constexpr std::uint32_t kSeveral = std::numeric_limits<std::uint32_t>::max();

  struct Place {
    std::uint32_t machine = kSeveral, rack = kSeveral;
    std::int32_t gpus = 0;
  };
  struct Group {
    std::uint32_t count = 0;  // the one in which it was looked at last
    std::int32_t gpus = 0;    // free, or held by those that leave
  };

  /// kSeveral: there is no one group.
  [[nodiscard]] std::uint32_t group_of(const Place& place) const {
    if (tier_ == kMachineTier) return place.machine;
    if (tier_ == kRackTier) return place.rack;
    if (racks_ == 0) return 0;
    return place.rack == kSeveral ? kSeveral : place.rack / racks_;
  }

  bool add_to(std::uint32_t group, std::int32_t gpus) {
    Group& g = groups_[group];
    const bool could_before = could_have_room(group);
    const std::int32_t free = free_in(group);  // a load is less than a branch that nobody foresees
    g = {count_, (g.count == count_ ? g.gpus : free) + gpus};
    return !could_before && g.gpus >= needed_;
  }

  [[nodiscard]] bool could_have_room(std::uint32_t group) const {
    return groups_[group].count == count_ && groups_[group].gpus >= needed_;
  }

  /// Of a group of racks: no more than this.
  [[nodiscard]] std::int32_t free_in(std::uint32_t group) const {
    if (tier_ == kMachineTier) return yard_.free().on(MachineId{group}).gpus;
    return tier_ == kRackTier ? (*free_in_rack_)[group] : free_;
  }

  // Of jobs that are in several groups.
  bool add_shares(JobId job);
  [[nodiscard]] bool has_share_that_matters(JobId job) const;
  [[nodiscard]] Place place_of(MachineId machine, std::int32_t gpus) const;

  const Yard& yard_;
  std::vector<Place> places_;  // by job, of those that run
  std::vector<Group> groups_;  // there are no more than machines
  std::uint32_t count_ = 0;
  std::size_t tier_ = 0;
  std::uint32_t racks_ = 0;  // of a group of this tier; 0: it is no group of racks
  const std::vector<std::int32_t>* free_in_rack_ = nullptr;
  std::int32_t free_ = 0, needed_ = 0;
};

}  // namespace trainyard
