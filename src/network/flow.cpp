#include "network/flow.h"

#include <algorithm>

#include "perf/speed.h"

namespace trainyard {
namespace {

/// Which of the members of the tier it is, see Links.
std::uint32_t number_at(const Cluster& cluster, std::size_t tier, const TierMember& member) {
  if (tier == kRackTier) return member.machine;
  if (tier == kRackTier + 1) return member.rack;
  return group_of(cluster.tiers[tier - 1], member.rack);
}

/// What of all bytes between machines is exchanged at the tier and above.
double share_from(std::size_t tier, const Spread& spread) {
  double all = 0, from = 0;
  for (std::size_t t = kRackTier; t <= spread.tier; ++t) {
    const double part = 1 - 1.0 / spread.exchanges[t].members;
    all += part;
    if (t >= tier) from += part;
  }
  return from / all;
}

double weight_of(Collective collective, std::size_t tier, const TierMember& member,
                 const Spread& spread, std::int32_t machines) {
  switch (collective) {
    case Collective::ring:
      return 1;
    case Collective::hierarchical:
      return share_from(tier, spread);
    case Collective::parameter_server:
      return member.pushes(spread.gpus, machines);
    case Collective::single_server:
      return member.served(spread.gpus);
  }
  return 0;
}

}  // namespace

Flow flow_of(const Links& links, const Cluster& cluster, const Placement& placement,
             std::int32_t gpus_per_worker, const ModelProfile& model) {
  const Spread spread = spread_of(cluster, placement, gpus_per_worker);
  const Communication alone = communication(model, spread);
  Flow flow;
  flow.fixed_s = alone.fixed_s;
  if (alone.shared_s <= 0) return flow;
  flow.bytes = alone.bytes;
  flow.most = alone.bytes / alone.shared_s;
  std::vector<TierMember> members = machines_of(cluster, placement, gpus_per_worker);
  const auto machines = static_cast<std::int32_t>(members.size());
  for (std::size_t tier = kRackTier; tier <= spread.tier; ++tier) {
    for (const TierMember& member : members) {
      const std::uint32_t number = number_at(cluster, tier, member);
      const LinkId up = links.up(tier, number), down = links.down(tier, number);
      // Machines of a rack may send together for the tiers above, each a part; a lone job is never
      // slower than its machines can send.
      const double weight = std::min(weight_of(model.collective, tier, member, spread, machines),
                                     links.capacity(up) / flow.most);
      flow.links.push_back({up, weight});
      flow.links.push_back({down, weight});
    }
    members = members_above(cluster, tier, members);
  }
  return flow;
}

}  // namespace trainyard
