// How a placement lies on the tiers of the network: all that communication depends on. Two
// placements with equal spreads synchronise equally fast, so results can be kept by (model,
// spread).
//
// Tier by tier, from the inside: the members of a group (GPUs of a machine, machines of a rack,
// racks of a pod) first agree among themselves, then the group is one member of the tier above.
// Example: 4 GPUs on each of three machines, two of them in one rack, spread over the tiers
// machine, rack and across has members 4, 2, 2.
#pragma once

#include <algorithm>
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
  /// The same with a single server, on the machine of the job that has the lowest number.
  double served = 0;

  bool operator==(const Exchange&) const = default;
};

struct Spread {
  std::int32_t gpus = 0;
  std::size_t tier = kMachineTier;  // the one the placement spans
  std::array<Exchange, kMaxTiers> exchanges{};

  bool operator==(const Spread&) const = default;
};

/// A machine, or what has become one member of a higher tier.
struct TierMember {
  std::uint32_t machine = 0;  // its first of the job's
  std::uint32_t rack = 0;     // of that machine
  std::int32_t gpus = 0;
  std::int32_t machines = 1;
  double gbps = 0;  // what its machines can send together, and its rack lets through
  bool has_server = false;

  /// In gradients: with a server on every machine, a member of k of n GPUs and m of N machines
  /// pushes what belongs to servers elsewhere, k (N - m) / N, and takes in (n - k) m / N.
  [[nodiscard]] double pushes(std::int32_t gpus_of_job, std::int32_t machines_of_job) const {
    const double here = static_cast<double>(machines) / machines_of_job;
    return std::max(gpus * (1 - here), (gpus_of_job - gpus) * here);
  }
  /// With a single server: the member that has it takes in what the others push.
  [[nodiscard]] double served(std::int32_t gpus_of_job) const {
    return has_server ? gpus_of_job - gpus : gpus;
  }
};

/// The members of the rack tier, in order of their numbers.
std::vector<TierMember> machines_of(const Cluster& cluster, Placement placement,
                                    std::int32_t gpus_per_worker);

/// Those of each group of the tier as one member of the tier above.
std::vector<TierMember> members_above(const Cluster& cluster, std::size_t tier,
                                      const std::vector<TierMember>& members);

/// Allocates only when the placement has more than one machine; O(machines x log machines).
Spread spread_of(const Cluster& cluster, const Placement& placement, std::int32_t gpus_per_worker);

/// So many GPUs in one machine, which is as good as it gets.
Spread spread_in_machine(const std::vector<Tier>& tiers, std::int32_t gpus);

}  // namespace trainyard
