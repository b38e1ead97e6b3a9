// SimGrid's time for a flow that comes to 10,000 others: the step of its engine from the start of a
// communication to the next instant, which is what it takes to share the links anew.
#include "../network.h"

#include "../../tests/simgrid/simgrid_network.h"
#include "../bench.h"

namespace trainyard::bench {

double simgrid_arrival() {
  constexpr std::size_t kTimes = 200;
  BusyNetwork network;
  SimGridNetwork simgrid(SimGridRoutes::by_host);
  for (const double capacity : network.capacities()) simgrid.add_link(capacity);
  for (std::size_t f = 0; f < BusyNetwork::kFlows + kTimes; ++f)
    simgrid.add_flow(network.draw().links, std::numeric_limits<double>::infinity());
  std::vector<double> all;
  simgrid.run([&] {
    constexpr double kInstant = 1e-3;
    std::vector<sg::CommPtr> running;
    for (std::size_t f = 0; f < BusyNetwork::kFlows; ++f) running.push_back(simgrid.start(f));
    sg::this_actor::sleep_for(kInstant);
    for (std::size_t i = 0; i < kTimes; ++i) {
      running[i]->cancel();
      sg::this_actor::sleep_for(kInstant);
      all.push_back(seconds([&] {
        running.push_back(simgrid.start(BusyNetwork::kFlows + i));
        sg::this_actor::sleep_for(kInstant);
      }));
    }
    for (const sg::CommPtr& comm : running) comm->cancel();
  });
  std::ranges::sort(all);
  return all[kTimes / 2];
}

}  // namespace trainyard::bench
