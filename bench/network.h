// The network whose rates are measured, for us and for SimGrid.
#pragma once

#include "base/random.h"
#include "network/flow.h"

namespace trainyard::bench {

/// 12,500 machines in racks of 40 with uplinks that carry a quarter of what their machines can
/// send, and rings over 2 to 8 machines: nine of ten on neighbours, the tenth over two racks
/// anywhere.
class BusyNetwork {
 public:
  static constexpr std::size_t kFlows = 10'000;

  BusyNetwork();

  [[nodiscard]] const std::vector<double>& capacities() const { return links_.capacities(); }
  Flow draw();

 private:
  Placement draw_placement();

  Cluster cluster_;
  Links links_;
  ModelProfile model_;
  Random random_{1};
};

/// Seconds that SimGrid takes for one arrival among the others.
double simgrid_arrival();

}  // namespace trainyard::bench
