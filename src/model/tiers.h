// The tiers of the network, innermost first: inside a machine, between machines of a rack, between
// racks of a group (block, pod, rail; as many such tiers as the cluster file names), across all. A
// placement spans the lowest tier that holds all its machines.
//
//   [network.machine]             # every table and field may be left out
//   gbps = 4800                   # of one GPU towards the others of its machine, in Gbit/s
//   latency_us = 0.5
//   [network.rack]
//   gbps = 1600                   # of one machine; its own nic_gbps goes before this
//   latency_us = 5
//   [[network.group]]             # the first four racks are one pod, the next four another
//   name = "pod"
//   racks = 4
//   gbps = 3200                   # of one rack towards its pod
//   [network.across]
//   gbps = 3200                   # of one of the largest groups (here: pods) towards the others
//   latency_us = 50
//   oversubscription = 4          # of the switches at this tier: divides gbps
//
// The defaults are those of the simulator that Dally's first author published: 600, 200 and 400
// GB/s and these latencies; a group has gbps and
// latency of `across`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "model/placement.h"

namespace trainyard {

struct Cluster;

struct Tier {
  std::string name;
  double gbps = 0;              // of one member of this tier, without oversubscription
  double latency_us = 0;        // of one message
  double oversubscription = 1;  // at least 1
  std::uint32_t racks = 0;      // of a group; 0: not a grouping of racks

  /// What a member can send when all others send as well.
  [[nodiscard]] double link_gbps() const { return gbps / oversubscription; }
};

constexpr std::size_t kMachineTier = 0;
constexpr std::size_t kRackTier = 1;
constexpr std::size_t kMaxTiers = 8;

/// machine, rack, across.
std::vector<Tier> default_tiers();

/// Which of the groups of this tier (above the rack's) a rack is in.
constexpr std::uint32_t group_of(const Tier& tier, std::uint32_t rack) {
  return tier.racks == 0 ? 0 : rack / tier.racks;
}

/// The lowest tier that holds all machines of the placement: an index into the cluster's tiers. One
/// pass over the placement, no allocation.
std::size_t tier_of(const Cluster& cluster, const Placement& placement);

}  // namespace trainyard
