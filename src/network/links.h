// The links that jobs share, numbered from 0: what each machine sends and takes in (its NIC), and
// what each rack, and each group of racks, exchanges with the others of the tier above. A link goes
// one way, up (even numbers) or down, and has as many bytes/s as perf/spread.h reckons with; the
// inside of a machine is its job's own, and the outermost tier has nothing above it.
//
// Example: two racks of two machines, NICs of 100 Gbit/s, 50 Gbit/s between racks:
//
//   r0m0, r0m1, r1m0, r1m1   links 0 to 7    12.5e9 bytes/s up, and down
//   rack 0, rack 1           links 8 to 11   6.25e9
#pragma once

#include <array>
#include <string>
#include <vector>

#include "model/cluster.h"
#include "network/link_use.h"

namespace trainyard {

class Links {
 public:
  /// Keeps the cluster, for names.
  explicit Links(const Cluster& cluster);

  /// In bytes/s, by number.
  [[nodiscard]] const std::vector<double>& capacities() const { return capacities_; }
  [[nodiscard]] double capacity(LinkId link) const { return capacities_[index(link)]; }

  /// Of a member of the tier towards its others: members of the rack tier are machines, those of
  /// the next one racks, of any other the groups of the tier below. In a cluster where a tier has
  /// one member only, that has no link.
  [[nodiscard]] LinkId up(std::size_t tier, std::uint32_t member) const {
    return LinkId{first_[tier] + 2 * member};
  }
  [[nodiscard]] LinkId down(std::size_t tier, std::uint32_t member) const {
    return LinkId{first_[tier] + 2 * member + 1};
  }

  /// For people: "r0m3 up", "rack 2 down", "pod 1 up".
  [[nodiscard]] std::string name(LinkId link) const;

 private:
  void add(double gbps);

  const Cluster* cluster_;
  std::vector<double> capacities_;
  std::array<std::uint32_t, kMaxTiers> first_{};  // link of each tier
};

}  // namespace trainyard
