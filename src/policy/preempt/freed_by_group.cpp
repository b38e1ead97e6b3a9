#include "policy/preempt/freed_by_group.h"

#include <algorithm>

#include "base/grow.h"

namespace trainyard {

FreedByGroup::FreedByGroup(const Yard& yard)
    : yard_(yard), groups_(std::max<std::size_t>(yard.cluster().machines.size(), 1)) {}

void FreedByGroup::note_place(JobId job) {
  grow_to(places_, index(job), yard_.workload().jobs.size());
  const Placement& shares = yard_.placement(job);
  Place place = place_of(shares.front().machine, yard_.gpus(job));
  for (const Share& share : shares) {
    const Place other = place_of(share.machine, 0);
    if (other.machine != place.machine) place.machine = kSeveral;
    if (other.rack != place.rack) place.rack = kSeveral;
  }
  places_[index(job)] = place;
}

void FreedByGroup::begin(const Shape& shape, Reach reach) {
  clear();
  needed_ = shape.gpus();
  tier_ = std::min(reach.tier, yard_.cluster().tiers.size() - 1);
  racks_ = yard_.cluster().tiers[tier_].racks;
  const FreeIndex::OfKind& free = yard_.free().of(shape.kind);
  free_in_rack_ = &free.free_in_rack;
  free_ = static_cast<std::int32_t>(free.free_gpus);
}

void FreedByGroup::clear() {
  if (++count_ > 0) return;
  std::ranges::fill(groups_, Group{});  // it begins anew as well: after days
  ++count_;
}

bool FreedByGroup::add_shares(JobId job) {
  const std::int32_t each = yard_.shape(job).per_worker.gpus;
  bool is_one_more = false;
  for (const Share& share : yard_.placement(job)) {
    const Place place = place_of(share.machine, each * share.workers);
    is_one_more |= add_to(group_of(place), place.gpus);
  }
  return is_one_more;
}

bool FreedByGroup::has_share_that_matters(JobId job) const {
  return std::ranges::any_of(yard_.placement(job), [&](const Share& share) {
    return could_have_room(group_of(place_of(share.machine, 0)));
  });
}

FreedByGroup::Place FreedByGroup::place_of(MachineId machine, std::int32_t gpus) const {
  return {static_cast<std::uint32_t>(machine),
          static_cast<std::uint32_t>(yard_.cluster().machine(machine).rack), gpus};
}

}  // namespace trainyard
