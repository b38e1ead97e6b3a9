#include "network/links.h"

#include <fmt/format.h>

#include <algorithm>

namespace trainyard {
namespace {

double rack_gbps(const Rack& rack, const Tier& above) {
  const double link = above.link_gbps();
  return rack.uplink_gbps > 0 ? std::min(rack.uplink_gbps, link) : link;
}

/// How many groups the tier has.
std::size_t groups_of(const Cluster& cluster, std::size_t tier) {
  return group_of(cluster.tiers[tier], static_cast<std::uint32_t>(cluster.racks.size() - 1)) + 1;
}

}  // namespace

Links::Links(const Cluster& cluster) : cluster_(&cluster) {
  const Tier& rack_tier = cluster.tiers[kRackTier];
  first_[kRackTier] = 0;
  for (const Machine& machine : cluster.machines)
    add(machine.nic_gbps / rack_tier.oversubscription);
  for (std::size_t tier = kRackTier + 1; tier < cluster.tiers.size(); ++tier) {
    first_[tier] = static_cast<std::uint32_t>(capacities_.size());
    if (cluster.racks.size() < 2) continue;
    if (tier == kRackTier + 1) {
      for (const Rack& rack : cluster.racks) add(rack_gbps(rack, cluster.tiers[tier]));
    } else if (const std::size_t groups = groups_of(cluster, tier - 1); groups > 1) {
      for (std::size_t group = 0; group < groups; ++group) add(cluster.tiers[tier].link_gbps());
    }
  }
}

/// Up and down.
void Links::add(double gbps) {
  capacities_.insert(capacities_.end(), 2, gbps * 1e9 / 8);
}

std::string Links::name(LinkId link) const {
  std::size_t tier = kRackTier;
  while (tier + 1 < cluster_->tiers.size() && first_[tier + 1] <= index(link)) ++tier;
  const std::size_t member = (index(link) - first_[tier]) / 2;
  const std::string_view way = index(link) % 2 == 0 ? "up" : "down";
  if (tier == kRackTier) return fmt::format("{} {}", cluster_->machines[member].name, way);
  return fmt::format("{} {} {}", cluster_->tiers[tier - 1].name, member, way);
}

}  // namespace trainyard
