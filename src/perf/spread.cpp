#include "perf/spread.h"

#include <algorithm>
#include <limits>
#include <span>

namespace trainyard {
namespace {

std::uint32_t group_at(const Cluster& cluster, std::size_t tier, std::uint32_t rack) {
  return tier == kRackTier ? rack : group_of(cluster.tiers[tier], rack);
}

/// The members of one group as one member of the tier above.
TierMember join(const Cluster& cluster, std::size_t tier, std::span<const TierMember> group) {
  TierMember joined{group[0].machine, group[0].rack, 0, 0, 0, false};
  for (const TierMember& member : group) {
    joined.gpus += member.gpus;
    joined.machines += member.machines;
    joined.gbps += member.gbps;
    joined.has_server |= member.has_server;
  }
  const double uplink = cluster.racks[joined.rack].uplink_gbps;
  if (tier == kRackTier && uplink > 0) joined.gbps = std::min(joined.gbps, uplink);
  return joined;
}

/// Calls visit(members of the group) for each group of the tier.
template <class Visit>
void for_groups(const Cluster& cluster, std::size_t tier, const std::vector<TierMember>& members,
                Visit visit) {
  for (const TierMember *first = members.data(), *end = first + members.size(); first != end;) {
    const std::uint32_t group = group_at(cluster, tier, first->rack);
    const TierMember* last = std::find_if(first, end, [&](const TierMember& member) {
      return group_at(cluster, tier, member.rack) != group;
    });
    visit(std::span(first, last));
    first = last;
  }
}

/// What the members do at a tier.
Exchange exchange_of(const Cluster& cluster, std::size_t tier, const Spread& spread,
                     std::int32_t machines, const std::vector<TierMember>& members) {
  Exchange exchange;
  exchange.gbps =
      tier == kRackTier ? std::numeric_limits<double>::max() : cluster.tiers[tier].link_gbps();
  exchange.latency_us = cluster.tiers[tier].latency_us;
  for (const TierMember& member : members) {
    exchange.gbps = std::min(exchange.gbps, member.gbps);
    exchange.pushes = std::max(exchange.pushes, member.pushes(spread.gpus, machines));
    exchange.served = std::max(exchange.served, member.served(spread.gpus));
  }
  for_groups(cluster, tier, members, [&](std::span<const TierMember> group) {
    exchange.members = std::max(exchange.members, static_cast<std::int32_t>(group.size()));
  });
  return exchange;
}

Exchange machine_exchange(const std::vector<Tier>& tiers, std::int32_t gpus) {
  const Tier& tier = tiers[kMachineTier];
  return {std::max(1, gpus), tier.link_gbps(), tier.latency_us, gpus > 1 ? 1.0 : 0.0,
          std::max(0.0, gpus - 1.0)};
}

}  // namespace

std::vector<TierMember> machines_of(const Cluster& cluster, Placement placement,
                                    std::int32_t gpus_per_worker) {
  // Machines of a rack, and racks of a group, have neighbouring numbers.
  std::ranges::sort(placement, {}, &Share::machine);
  std::vector<TierMember> members;
  for (const Share& share : placement) {
    const Machine& machine = cluster.machine(share.machine);
    members.push_back({static_cast<std::uint32_t>(share.machine),
                       static_cast<std::uint32_t>(machine.rack), share.workers * gpus_per_worker, 1,
                       machine.nic_gbps / cluster.tiers[kRackTier].oversubscription,
                       members.empty()});
  }
  return members;
}

std::vector<TierMember> members_above(const Cluster& cluster, std::size_t tier,
                                      const std::vector<TierMember>& members) {
  std::vector<TierMember> above;
  for_groups(cluster, tier, members, [&](std::span<const TierMember> group) {
    above.push_back(join(cluster, tier, group));
  });
  return above;
}

Spread spread_in_machine(const std::vector<Tier>& tiers, std::int32_t gpus) {
  Spread spread;
  spread.gpus = gpus;
  spread.exchanges[kMachineTier] = machine_exchange(tiers, gpus);
  return spread;
}

Spread spread_of(const Cluster& cluster, const Placement& placement, std::int32_t gpus_per_worker) {
  const std::int32_t gpus = workers(placement) * gpus_per_worker;
  if (placement.size() < 2) return spread_in_machine(cluster.tiers, gpus);
  Spread spread;
  spread.gpus = gpus;
  spread.tier = tier_of(cluster, placement);
  std::vector<TierMember> members = machines_of(cluster, placement, gpus_per_worker);
  const auto machines = static_cast<std::int32_t>(members.size());
  const TierMember& fullest = *std::ranges::max_element(members, {}, &TierMember::gpus);
  spread.exchanges[kMachineTier] = machine_exchange(cluster.tiers, fullest.gpus);
  for (std::size_t tier = kRackTier; tier <= spread.tier; ++tier) {
    spread.exchanges[tier] = exchange_of(cluster, tier, spread, machines, members);
    members = members_above(cluster, tier, members);
  }
  return spread;
}

}  // namespace trainyard
