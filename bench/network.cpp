// How long it takes until all rates are right again when a flow comes to 10,000 others.
#include "network.h"

#include "bench.h"
#include "network/fair_share.h"

namespace trainyard::bench {
namespace {

constexpr std::uint32_t kMachineCount = 12'500, kMachinesInRack = 40;
constexpr double kNicGbps = 100, kOversubscription = 4;
constexpr int kArrivals = 20'000;

Cluster make_cluster() {
  Cluster cluster;
  Machine machine;
  machine.nic_gbps = kNicGbps;
  machine.capacity.gpus = 8;
  for (std::uint32_t first = 0; first < kMachineCount; first += kMachinesInRack) {
    cluster.add_rack(kMachinesInRack * kNicGbps / kOversubscription);
    if (!cluster.add_machines(std::min(kMachinesInRack, kMachineCount - first), machine, "V100"))
      std::abort();
  }
  return cluster;
}

}  // namespace

BusyNetwork::BusyNetwork() : cluster_(make_cluster()), links_(cluster_) {
  model_.gradient_bytes.value = 100e6;
}

Placement BusyNetwork::draw_placement() {
  const auto count = static_cast<std::uint32_t>(2 + random_.below(7));
  Placement placement;
  if (random_.below(10) > 0) {
    const auto first = static_cast<std::uint32_t>(random_.below(kMachineCount - count));
    for (std::uint32_t m = first; m < first + count; ++m) placement.push_back({MachineId{m}, 8});
    return placement;
  }
  // Every other machine in one of two racks, so that none is drawn twice.
  const auto one = static_cast<std::uint32_t>(random_.below(kMachineCount / kMachinesInRack));
  const auto two = static_cast<std::uint32_t>(random_.below(kMachineCount / kMachinesInRack));
  const auto seat = static_cast<std::uint32_t>(random_.below(kMachinesInRack - count));
  for (std::uint32_t m = 0; m < count; ++m)
    placement.push_back({MachineId{(m % 2 == 0 ? one : two) * kMachinesInRack + seat + m}, 8});
  return placement;
}

Flow BusyNetwork::draw() {
  return flow_of(links_, cluster_, draw_placement(), 1, model_);
}

namespace {

struct Arrivals {
  Latency come, leave;
  double changed = 0;  // rates by one arrival
};

template <class Work>
void add_time(Histogram& ticks, Work work) {
  const std::uint64_t begin = CycleClock::now();
  work();
  ticks.add(CycleClock::now() - begin);
}

Arrivals arrivals() {
  BusyNetwork network;
  Random random(2);
  FairShare fair(network.capacities());
  std::vector<FlowId> flows;
  const auto come = [&](const Flow& flow) { return fair.add(flow.links, flow.most, kFirstFlow); };
  for (std::size_t i = 0; i < BusyNetwork::kFlows; ++i) flows.push_back(come(network.draw()));
  fair.settle();
  Histogram came, left;
  std::size_t changed = 0;
  for (int i = 0; i < kArrivals; ++i) {
    FlowId& place = flows[random.below(flows.size())];
    add_time(left, [&] {
      fair.remove(place);
      fair.settle();
    });
    const Flow flow = network.draw();
    add_time(came, [&] {
      place = come(flow);
      changed += fair.settle().size();
    });
  }
  return {latency_of(came), latency_of(left), static_cast<double>(changed) / kArrivals};
}

}  // namespace

void measure_network(Table& table) {
  if (!table.wants("network/arrival")) return;
  const Arrivals a = in_child([] { return arrivals(); });
  table.add({"network: a flow's arrival among 10,000, p99",
             a.come.p99_us,
             "us",
             Target{Target::Is::at_most, 50},
             {},
             fmt::format("p50 {}, max {}; leaving p50 {}, p99 {}; {} rates change",
                         number(a.come.p50_us), number(a.come.max_us), number(a.leave.p50_us),
                         number(a.leave.p99_us), number(a.changed))});
#ifdef TRAINYARD_SIMGRID
  const double simgrid_us = in_child([] { return simgrid_arrival(); }) * 1e6;
  table.add({"network: SimGrid's time for an arrival over ours, medians",
             simgrid_us / a.come.p50_us,
             "x",
             {},
             {},
             fmt::format("{} us", number(simgrid_us))});
#endif
}

}  // namespace trainyard::bench
