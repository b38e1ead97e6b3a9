// The rates of FairShare are those of SimGrid's solver: on random networks, within one class, and
// for classes one after the other on what the higher ones have left.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/random.h"
#include "network/fair_share.h"
#include "simgrid_network.h"

namespace trainyard {
namespace {

constexpr std::uint64_t kSeeds = 60;
constexpr std::size_t kClasses = 3;
constexpr double kUnit = 1e9;  // bytes/s; SimGrid reckons to 1e-5 of one

struct DrawnFlow {
  std::vector<LinkUse> links;
  double most = 0;
  std::size_t flow_class = 0;
  double simgrid_rate = 0;
};

/// Some links of SimGrid's and the flows on them.
struct DrawnNetwork {
  std::size_t first_link = 0, first_flow = 0;
  std::vector<double> capacities;
  std::vector<DrawnFlow> flows;
};

DrawnNetwork draw_network(std::uint64_t seed) {
  Random random(seed);
  DrawnNetwork network;
  network.capacities.resize(1 + random.below(20));
  for (double& capacity : network.capacities)
    capacity = kUnit * (random.below(2) == 0 ? 1 : random.uniform(0.1, 4));
  network.flows.resize(1 + random.below(60));
  const bool classes = random.below(2) == 0;
  for (DrawnFlow& flow : network.flows) {
    flow.flow_class = classes ? random.below(kClasses) : 0;
    flow.most = kUnit * (random.below(2) == 0 ? 10 : random.uniform(0.01, 1));
    for (std::uint32_t l = 0; l < network.capacities.size(); ++l)
      if (random.below(network.capacities.size()) < 3)
        flow.links.push_back({LinkId{l}, static_cast<double>(1 + random.below(3))});
    if (flow.links.empty()) flow.links.push_back({LinkId{0}, 1});
  }
  return network;
}

/// All networks stand in one of SimGrid's, side by side.
void add_to(SimGridNetwork& simgrid, std::vector<DrawnNetwork>& networks) {
  std::size_t links = 0, flows = 0;
  for (DrawnNetwork& network : networks) {
    network.first_link = links;
    network.first_flow = flows;
    for (const double capacity : network.capacities) simgrid.add_link(capacity);
    for (const DrawnFlow& flow : network.flows) {
      std::vector<LinkUse> uses = flow.links;
      for (LinkUse& use : uses)
        use.link = LinkId{static_cast<std::uint32_t>(index(use.link) + links)};
      simgrid.add_flow(uses, flow.most);
    }
    links += network.capacities.size();
    flows += network.flows.size();
  }
}

/// The flows of one class on what is left of the links, of which they then take their part.
void solve_class(SimGridNetwork& simgrid, std::vector<DrawnNetwork>& networks,
                 std::size_t flow_class) {
  std::vector<std::size_t> started;
  std::vector<DrawnFlow*> flows;
  for (DrawnNetwork& network : networks)
    for (std::size_t f = 0; f < network.flows.size(); ++f) {
      if (network.flows[f].flow_class != flow_class) continue;
      started.push_back(network.first_flow + f);
      flows.push_back(&network.flows[f]);
    }
  const std::vector<double> rates = simgrid.rates(started);
  for (std::size_t i = 0; i < rates.size(); ++i) flows[i]->simgrid_rate = rates[i];
  for (const DrawnNetwork& network : networks) {
    std::vector<double> left = network.capacities;
    for (const DrawnFlow& flow : network.flows)
      for (const LinkUse& use : flow.links) left[index(use.link)] -= use.weight * flow.simgrid_rate;
    for (std::size_t l = 0; l < left.size(); ++l)
      simgrid.set_capacity(network.first_link + l, std::max(left[l], 1e-3));
  }
}

void expect_the_same_rates(const DrawnNetwork& network) {
  FairShare fair(network.capacities);
  std::vector<FlowId> ids;
  for (const DrawnFlow& flow : network.flows)
    ids.push_back(
        fair.add(flow.links, flow.most, FlowClass{static_cast<std::uint8_t>(flow.flow_class)}));
  fair.settle();
  for (std::size_t f = 0; f < ids.size(); ++f) {
    const double rate = network.flows[f].simgrid_rate;
    ASSERT_NEAR(fair.rate(ids[f]), rate, 1e-6 * std::max(rate, 1e-3 * kUnit))
        << "flow " << f << " of class " << network.flows[f].flow_class;
  }
}

TEST(FairShareAndSimGrid, AgreeOnRandomNetworks) {
  std::vector<DrawnNetwork> networks;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) networks.push_back(draw_network(seed));
  SimGridNetwork simgrid(SimGridRoutes::by_pair);
  add_to(simgrid, networks);
  simgrid.run([&] {
    for (std::size_t c = 0; c < kClasses; ++c) solve_class(simgrid, networks, c);
  });
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    expect_the_same_rates(networks[seed - 1]);
  }
}

}  // namespace
}  // namespace trainyard
