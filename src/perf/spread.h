// How a placement lies on the tiers of the network: all that communication depends on. Two
// placements with equal spreads synchronise equally fast, so results can be kept by (model,
// spread).
//
// Tier by tier, from the inside: the members of a group (GPUs of a machine, machines of a rack,
// racks of a pod) first agree among themselves, then the group is one member of the tier above.
// Example: 4 GPUs on each of three machines, two of them in one rack, spread over the tiers
// machine, rack and across has members 4, 2, 2.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "model/cluster.h"
#include "model/placement.h"

namespace trainyard {

/// What happens at one tier.
struct Exchange {
  std::int32_t members = 1;  // that exchange, in the largest group; 1: nothing happens here
  double gbps = 0;           // of the slowest member's link
  double latency_us = 0;
  /// With a parameter server shard on every machine of the job: how many times the gradient crosses
  /// the busiest link in one direction, when all workers push.
  double pushes = 0;

  bool operator==(const Exchange&) const = default;
};

struct Spread {
  std::int32_t gpus = 0;
  std::size_t tier = kMachineTier;  // the one the placement spans
  std::array<Exchange, kMaxTiers> exchanges{};

  bool operator==(const Spread&) const = default;
};

/// Allocates only when the placement has more than one machine; O(machines x log machines).
Spread spread_of(const Cluster& cluster, const Placement& placement, std::int32_t gpus_per_worker);

/// So many GPUs in one machine, which is as good as it gets.
Spread spread_in_machine(const std::vector<Tier>& tiers, std::int32_t gpus);

}  // namespace trainyard
