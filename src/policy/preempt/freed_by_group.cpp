#include "policy/preempt/freed_by_group.h"

#include <algorithm>

namespace trainyard {

FreedByGroup::FreedByGroup(const Yard& yard)
    : yard_(yard), groups_(std::max<std::size_t>(yard.cluster().machines.size(), 1)) {}

void FreedByGroup::begin(KindId kind, std::size_t tier) {
  clear();
  tier_ = tier;
  racks_ = yard_.cluster().tiers[tier_].racks;
  const FreeIndex::OfKind& free = yard_.free().of(kind);
  free_in_rack_ = &free.free_in_rack;
  free_ = static_cast<std::int32_t>(free.free_gpus);
}

void FreedByGroup::clear() {
  if (++count_ > 0) return;
  std::ranges::fill(groups_, Group{});  // it begins anew as well: after days
  ++count_;
}

std::int32_t FreedByGroup::add_shares(JobId job) {
  const Placement& shares = yard_.placement(job);
  std::int32_t most = 0;
  for (std::size_t i = 0; i < shares.size(); ++i)
    most = std::max(
        most, add_to(group_of(shares[i].machine), yard_.each(job, i).gpus * shares[i].workers));
  return most;
}

bool FreedByGroup::has_beside_shares(JobId job, std::int32_t gpus) const {
  return std::ranges::any_of(
      yard_.placement(job), [&](const Share& share) { return has(group_of(share.machine), gpus); });
}

std::uint32_t FreedByGroup::group_of(MachineId machine) const {
  return group_of(held_on(yard_.cluster(), machine));
}

}  // namespace trainyard
