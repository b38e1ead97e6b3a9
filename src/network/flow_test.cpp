#include "network/flow.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>

#include "base/random.h"
#include "network/fair_share.h"
#include "perf/speed.h"

namespace trainyard {
namespace {

Cluster cluster_of(std::string_view toml) {
  auto cluster = parse_cluster_toml(toml, "c.toml");
  EXPECT_TRUE(cluster) << cluster.error().message;
  return std::move(*cluster);
}

Cluster pods() {
  return cluster_of(R"(
[network.rack]
gbps = 100
[[network.group]]
name = "pod"
racks = 2
gbps = 150
[network.across]
gbps = 120
[[rack]]
count = 3
[[rack.machine]]
count = 4
[[rack]]
uplink_gbps = 90
[[rack.machine]]
count = 4
nic_gbps = 50
)");
}

ModelProfile model_of(Collective collective) {
  ModelProfile model;
  model.gradient_bytes.value = 102e6;
  model.collective = collective;
  return model;
}

Placement on(std::initializer_list<std::pair<std::uint32_t, std::int32_t>> shares) {
  Placement placement;
  for (const auto& [machine, workers] : shares) placement.push_back({MachineId{machine}, workers});
  return placement;
}

std::map<std::string, double> weights(const Links& links, const Flow& flow) {
  std::map<std::string, double> by_name;
  for (const LinkUse& use : flow.links) by_name[links.name(use.link)] = use.weight;
  EXPECT_EQ(by_name.size(), flow.links.size()) << "a link is there twice";
  return by_name;
}

class FlowOf : public testing::Test {
 protected:
  [[nodiscard]] std::map<std::string, double> weights_of(Collective collective,
                                                         const Placement& placement) const {
    return weights(links_, flow_of(links_, cluster_, placement, 1, model_of(collective)));
  }

  Cluster cluster_ = pods();
  Links links_{cluster_};
};

TEST_F(FlowOf, InOneMachineThereIsNone) {
  const Flow flow = flow_of(links_, cluster_, on({{3, 8}}), 1, model_of(Collective::ring));
  EXPECT_TRUE(flow.links.empty());
  EXPECT_EQ(flow.bytes, 0);
  EXPECT_EQ(flow.fixed_s + flow.bytes / flow.most,
            communication_time(102e6, Collective::ring, spread_in_machine(cluster_.tiers, 8)));
}

TEST_F(FlowOf, ARingCrossesEachOfItsMachinesRacksAndGroups) {
  const std::map<std::string, double> in_rack{
      {"r0m0 up", 1}, {"r0m0 down", 1}, {"r0m2 up", 1}, {"r0m2 down", 1}};
  EXPECT_EQ(weights_of(Collective::ring, on({{2, 1}, {0, 4}})), in_rack);
  const std::map<std::string, double> in_pod{
      {"r0m0 up", 1},   {"r0m0 down", 1},   {"r1m0 up", 1},   {"r1m0 down", 1},
      {"rack 0 up", 1}, {"rack 0 down", 1}, {"rack 1 up", 1}, {"rack 1 down", 1}};
  EXPECT_EQ(weights_of(Collective::ring, on({{0, 4}, {4, 4}})), in_pod);
  const std::map<std::string, double> across = weights_of(Collective::ring, on({{0, 4}, {8, 4}}));
  EXPECT_EQ(across.size(), 12U);
  EXPECT_EQ(across.at("pod 0 up"), 1);
  EXPECT_EQ(across.at("pod 1 down"), 1);
}

TEST_F(FlowOf, AHierarchySendsLessOverHigherTiers) {
  const auto found =
      weights_of(Collective::hierarchical, on({{0, 1}, {1, 1}, {2, 1}, {3, 1}, {4, 1}}));
  // A quarter of 4 machines' gradients stays where it is, and a half of 2 racks'.
  EXPECT_EQ(found.at("r0m0 up"), 1);
  EXPECT_DOUBLE_EQ(found.at("rack 0 up"), 0.5 / (0.75 + 0.5));
}

TEST_F(FlowOf, MachinesOfARackSendTogetherWhenAHierarchyLeavesIt) {
  // Between the racks there are 300 Gbit/s for what four NICs of 100 send: 3/4 in the racks and 1/2
  // between them take 3/4 / 100 + 1/2 / 300, of which every NIC sends 3/4 and less than 1/4 x 1/2.
  cluster_.tiers[kRackTier + 1].gbps = 300;
  const Links links(cluster_);
  const Placement placement = on({{0, 1}, {1, 1}, {2, 1}, {3, 1}, {4, 1}, {5, 1}, {6, 1}, {7, 1}});
  const Flow flow = flow_of(links, cluster_, placement, 1, model_of(Collective::hierarchical));
  const double rate = 1.25 / (0.75 / 100 + 0.5 / 300);
  EXPECT_NEAR(flow.most, rate * 1e9 / 8, 1);
  EXPECT_NEAR(weights(links, flow).at("r1m3 down"), 100 / rate, 1e-12);
}

TEST_F(FlowOf, ServersTakeInGradients) {
  const auto sharded = weights_of(Collective::parameter_server, on({{0, 2}, {1, 2}, {4, 4}}));
  EXPECT_DOUBLE_EQ(sharded.at("r0m0 up"), 2.0) << "(8 - 2) / 3 come in, 2 x 2/3 go out";
  EXPECT_DOUBLE_EQ(sharded.at("rack 1 down"), 4 * 2.0 / 3);
  const auto single = weights_of(Collective::single_server, on({{4, 4}, {1, 2}, {0, 2}}));
  EXPECT_DOUBLE_EQ(single.at("r0m0 down"), 6);
  EXPECT_DOUBLE_EQ(single.at("r0m1 up"), 2);
  EXPECT_DOUBLE_EQ(single.at("rack 0 down"), 4);
  EXPECT_DOUBLE_EQ(single.at("rack 1 up"), 4);
}

TEST_F(FlowOf, AloneAJobIsAsFastAsWithoutANetwork) {
  for (std::uint64_t seed = 1; seed <= 500; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Random random(seed);
    for (std::size_t tier = 0; tier < cluster_.tiers.size(); ++tier) {
      cluster_.tiers[tier].gbps = random.uniform(10, 500);
      cluster_.tiers[tier].oversubscription = random.below(2) == 0 ? 1 : random.uniform(1, 4);
    }
    for (Machine& machine : cluster_.machines) machine.nic_gbps = random.uniform(10, 200);
    for (Rack& rack : cluster_.racks)
      rack.uplink_gbps = random.below(2) == 0 ? 0 : random.uniform(10, 200);
    Placement placement;
    for (std::uint32_t m = 0; m < cluster_.machines.size(); ++m)
      if (random.below(3) == 0)
        placement.push_back({MachineId{m}, static_cast<std::int32_t>(random.below(8) + 1)});
    if (placement.empty()) continue;
    const ModelProfile model = model_of(static_cast<Collective>(random.below(4)));
    const Links links(cluster_);
    const Flow flow = flow_of(links, cluster_, placement, 2, model);
    const double alone = communication_time(model.gradient_bytes.value, model.collective,
                                            spread_of(cluster_, placement, 2));
    ASSERT_NEAR(flow.fixed_s + flow.bytes / flow.most, alone, 1e-12 * alone);
    ASSERT_EQ(flow.links.empty(), placement.size() < 2);
    FairShare fair(links.capacities());
    const FlowId id = fair.add(flow.links, flow.most, kFirstFlow);
    fair.settle();
    if (flow.links.empty()) continue;
    ASSERT_NEAR(fair.rate(id), flow.most, 1e-12 * flow.most);
  }
}

TEST_F(FlowOf, TheExampleOfTheHeader) {
  const auto cluster = parse_cluster_shorthand("2x8xV100");
  const Links links(*cluster);
  const Flow flow = flow_of(links, *cluster, on({{0, 4}, {1, 4}}), 1, model_of(Collective::ring));
  EXPECT_DOUBLE_EQ(flow.bytes, 178.5e6);
  EXPECT_DOUBLE_EQ(flow.most, 200e9);
  EXPECT_NEAR(flow.fixed_s, 0.07e-3, 1e-12);
  FairShare fair(links.capacities());
  const FlowId one = fair.add(flow.links, flow.most, kFirstFlow);
  fair.add(flow.links, flow.most, kFirstFlow);
  fair.settle();
  EXPECT_DOUBLE_EQ(fair.rate(one), 100e9);
}

}  // namespace
}  // namespace trainyard
