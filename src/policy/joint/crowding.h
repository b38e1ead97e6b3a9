// What jobs cost each other that would send over the same links, in a plan that is not carried out
// yet: the fluid model of network/shared_network.h, with all flows alike.
#pragma once

#include <span>
#include <vector>

#include "network/shared_network.h"
#include "yard/yard.h"

namespace trainyard {

class Crowding {
 public:
  explicit Crowding(const Yard& yard) : yard_(yard), links_(yard.cluster()) {}

  struct Running {
    JobId job = kNoJob;
    const Placement* at = nullptr;
  };
  /// How many times as long as alone an iteration of each takes when these run, and others beside.
  [[nodiscard]] std::vector<double> slowed(std::span<const Running> these,
                                           std::span<const Running> others = {}) const;

 private:
  /// Without links: it is in nobody's way.
  [[nodiscard]] IterationWork work(const Running& running) const;

  const Yard& yard_;
  Links links_;
};

}  // namespace trainyard
