#include "perf/spread.h"

#include <algorithm>
#include <limits>

namespace trainyard {
namespace {

/// A machine, or what has become one member of a higher tier.
struct Member {
  std::uint32_t rack = 0;
  std::int32_t gpus = 0;
  std::int32_t machines = 1;
  double gbps = 0;  // what its machines can send together, and its rack lets through
};

std::vector<Member> machines_of(const Cluster& cluster, Placement placement,
                                std::int32_t gpus_per_worker) {
  // Machines of a rack, and racks of a group, have neighbouring numbers.
  std::ranges::sort(placement, {}, &Share::machine);
  std::vector<Member> members;
  for (const Share& share : placement) {
    const Machine& machine = cluster.machine(share.machine);
    members.push_back({static_cast<std::uint32_t>(machine.rack), share.workers * gpus_per_worker, 1,
                       machine.nic_gbps / cluster.tiers[kRackTier].oversubscription});
  }
  return members;
}

std::uint32_t group_at(const Cluster& cluster, std::size_t tier, std::uint32_t rack) {
  return tier == kRackTier ? rack : group_of(cluster.tiers[tier], rack);
}

/// The members of one group as one member of the tier above.
Member join(const Cluster& cluster, std::size_t tier, const Member* first, const Member* last) {
  Member joined{first->rack, 0, 0, 0};
  for (const Member* member = first; member != last; ++member) {
    joined.gpus += member->gpus;
    joined.machines += member->machines;
    joined.gbps += member->gbps;
  }
  const double uplink = cluster.racks[first->rack].uplink_gbps;
  if (tier == kRackTier && uplink > 0) joined.gbps = std::min(joined.gbps, uplink);
  return joined;
}

/// With a server on every machine, a member of k GPUs and m of the N machines pushes what belongs
/// to servers elsewhere, k (N - m) / N gradients, and takes in (n - k) m / N.
double pushes_of(const Member& member, std::int32_t gpus, std::int32_t machines) {
  const double here = static_cast<double>(member.machines) / machines;
  return std::max(member.gpus * (1 - here), (gpus - member.gpus) * here);
}

/// Runs one tier and leaves the members of the next.
void climb(const Cluster& cluster, std::size_t tier, std::int32_t machines,
           std::vector<Member>& members, Spread& spread) {
  Exchange& exchange = spread.exchanges[tier];
  const double link =
      tier == kRackTier ? std::numeric_limits<double>::max() : cluster.tiers[tier].link_gbps();
  exchange.gbps = std::numeric_limits<double>::max();
  exchange.latency_us = cluster.tiers[tier].latency_us;
  std::vector<Member> above;
  for (const Member *first = members.data(), *end = first + members.size(); first != end;) {
    const std::uint32_t group = group_at(cluster, tier, first->rack);
    const Member* last = first;
    for (; last != end && group_at(cluster, tier, last->rack) == group; ++last) {
      exchange.gbps = std::min({exchange.gbps, last->gbps, link});
      exchange.pushes = std::max(exchange.pushes, pushes_of(*last, spread.gpus, machines));
    }
    exchange.members = std::max(exchange.members, static_cast<std::int32_t>(last - first));
    above.push_back(join(cluster, tier, first, last));
    first = last;
  }
  members = std::move(above);
}

Exchange machine_exchange(const std::vector<Tier>& tiers, std::int32_t gpus) {
  const Tier& tier = tiers[kMachineTier];
  return {std::max(1, gpus), tier.link_gbps(), tier.latency_us, gpus > 1 ? 1.0 : 0.0};
}

}  // namespace

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
  std::vector<Member> members = machines_of(cluster, placement, gpus_per_worker);
  const auto machines = static_cast<std::int32_t>(members.size());
  const Member& fullest = *std::ranges::max_element(members, {}, &Member::gpus);
  spread.exchanges[kMachineTier] = machine_exchange(cluster.tiers, fullest.gpus);
  for (std::size_t tier = kRackTier; tier <= spread.tier; ++tier)
    climb(cluster, tier, machines, members, spread);
  return spread;
}

}  // namespace trainyard
