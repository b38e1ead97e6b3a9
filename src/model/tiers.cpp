#include "model/tiers.h"

#include <algorithm>

#include "model/cluster.h"

namespace trainyard {

std::vector<Tier> default_tiers() {
  return {{"machine", 4800, 0.5, 1, 0}, {"rack", 1600, 5, 1, 0}, {"across", 3200, 50, 1, 0}};
}

std::size_t tier_of(const Cluster& cluster, const Placement& placement) {
  if (placement.size() < 2) return kMachineTier;
  std::size_t first = cluster.racks.size(), last = 0;
  for (const Share& share : placement) {
    const std::size_t rack = index(cluster.machine(share.machine).rack);
    first = std::min(first, rack), last = std::max(last, rack);
  }
  if (first == last) return kRackTier;
  std::size_t tier = kRackTier + 1;
  while (group_of(cluster.tiers[tier], static_cast<std::uint32_t>(first)) !=
         group_of(cluster.tiers[tier], static_cast<std::uint32_t>(last)))
    ++tier;
  return tier;
}

}  // namespace trainyard
