#include "perf/speed.h"

#include <gtest/gtest.h>

#include "base/random.h"

namespace trainyard {
namespace {

const ModelProfile& resnet50() {
  return *Catalogue::builtin().find("ResNet-50");
}

Spread four_on_each_of_two() {
  const auto cluster = parse_cluster_shorthand("2x8xV100");
  return spread_of(*cluster, {{MachineId{0}, 4}, {MachineId{1}, 4}}, 1);
}

TEST(Speed, TheExampleOfTheHeader) {
  const Spread spread = four_on_each_of_two();
  EXPECT_NEAR(communication_time(102e6, Collective::ring, spread), 0.9625e-3, 1e-8);
  EXPECT_NEAR(communication_time(102e6, Collective::hierarchical, spread), 0.778e-3, 1e-8);
  EXPECT_NEAR(communication_time(102e6, Collective::parameter_server, spread), 2.05e-3, 1e-8);
  EXPECT_NEAR(communication_time(102e6, Collective::single_server, spread), 4.09e-3, 1e-8);
  ModelProfile model;
  model.gradient_bytes.value = 102e6;
  model.overlap.value = 0.5;
  const IterationTime time = iteration_time(model, 64 / 400.0, spread);
  EXPECT_NEAR(time.exposed_s, 0.9625e-3 / 20, 1e-9);
  EXPECT_NEAR(time.total_s(), 0.16 + 0.9625e-3 / 20, 1e-9);
}

TEST(Speed, LayersHaveTheirLatenciesAndAScaleOfComputingStretchesCommunication) {
  const Spread spread = four_on_each_of_two();
  ModelProfile model;
  model.gradient_bytes.value = 102e6;
  model.messages.value = 54;
  for (const auto& [collective, bytes_s, latency_s] :
       {std::tuple(Collective::ring, 0.8925e-3, 14 * 5e-6),
        std::tuple(Collective::hierarchical, 0.765e-3, 6 * 0.5e-6 + 2 * 5e-6),
        std::tuple(Collective::parameter_server, 2.04e-3, 2 * 5e-6)}) {
    model.collective = collective;
    model.compute_scale.value = 1;
    EXPECT_NEAR(communication_time(model, spread), bytes_s + 54 * latency_s, 1e-8);
    // A tenth of the computing beside the same communication, and as a part of the whole duration.
    model.compute_scale.value = 0.1;
    const double compute_s = 0.01, alone_s = bytes_s + 54 * latency_s;
    EXPECT_NEAR(iteration_time(model, compute_s, spread).total_s(),
                compute_s * (0.1 * compute_s + alone_s) / (0.1 * compute_s), 1e-7);
  }
}

TEST(Speed, OverlapHidesUpToItsShareOfComputing) {
  ModelProfile model;
  model.gradient_bytes.value = 100e9;
  const Spread spread = four_on_each_of_two();
  const double communication = communication_time(100e9, Collective::ring, spread);
  model.overlap.value = 0;
  EXPECT_EQ(iteration_time(model, 0.1, spread).exposed_s, communication);
  model.overlap.value = 0.5;
  EXPECT_NEAR(iteration_time(model, 0.1, spread).exposed_s, communication - 0.05, 1e-12);
}

TEST(Speed, OneGpuHasNothingToExchange) {
  const Spread alone = spread_in_machine(default_tiers(), 1);
  for (const Collective c : {Collective::ring, Collective::hierarchical,
                             Collective::parameter_server, Collective::single_server})
    EXPECT_EQ(communication_time(1e9, c, alone), 0);
}

TEST(Speed, EqualSharesWaitForTheSlowestProportionalOnesForNobody) {
  const std::vector<GpuGroup> mixed{{2, 100}, {2, 300}};
  EXPECT_DOUBLE_EQ(compute_time(60, mixed, Shares::equal), 0.6);
  EXPECT_DOUBLE_EQ(compute_time(60, mixed, Shares::proportional), 240 / 800.0);
  const std::vector<GpuGroup> alike{{4, 200}};
  EXPECT_DOUBLE_EQ(compute_time(60, alike, Shares::equal),
                   compute_time(60, alike, Shares::proportional));
}

TEST(Speed, KindsOfThePlacementCount) {
  const auto cluster = parse_cluster_toml(
      "[[rack]]\n[[rack.machine]]\nkind = \"V100\"\n[[rack.machine]]\nkind = \"K80\"\n", "c.toml");
  ASSERT_TRUE(cluster);
  const Catalogue& catalogue = Catalogue::builtin();
  const Placement fast{{MachineId{0}, 2}}, mixed{{MachineId{0}, 1}, {MachineId{1}, 1}};
  EXPECT_DOUBLE_EQ(compute_time(catalogue, resnet50(), *cluster, fast, 1, Shares::equal),
                   64 / 281.0);
  EXPECT_DOUBLE_EQ(compute_time(catalogue, resnet50(), *cluster, mixed, 1, Shares::equal),
                   64 / 39.6);
  EXPECT_DOUBLE_EQ(compute_time(catalogue, resnet50(), *cluster, mixed, 1, Shares::proportional),
                   128 / (281 + 39.6));
}

TEST(Stretch, IsOneInAMachineAndGrowsOutwards) {
  const auto cluster = parse_cluster_toml(
      "[network.rack]\ngbps = 20\n[network.across]\ngbps = 10\n[[rack]]\ncount = 2\n"
      "[[rack.machine]]\ncount = 2\n",
      "c.toml");
  ASSERT_TRUE(cluster);
  const auto at = [&](const Placement& placement) {
    return stretch(resnet50(), 0.1, spread_of(*cluster, placement, 1), cluster->tiers);
  };
  EXPECT_EQ(at({{MachineId{0}, 8}}), 1);
  const double rack = at({{MachineId{0}, 4}, {MachineId{1}, 4}});
  const double across = at({{MachineId{0}, 4}, {MachineId{2}, 4}});
  EXPECT_GT(rack, 1.1);
  EXPECT_GT(across, rack);
}

TEST(Stretch, IsNeverBelowOneAndNeverFallsWithALowerBandwidth) {
  Random random(3);
  auto fast = *parse_cluster_shorthand("4x4x8xV100");
  for (int round = 0; round < 500; ++round) {
    SCOPED_TRACE(testing::Message() << "round " << round << " of seed 3");
    fast.tiers[2].gbps = 1 + static_cast<double>(random.below(5000));
    Cluster slow = fast;
    slow.tiers[2].gbps /= 2;
    Placement placement;
    for (std::uint32_t m = 0; m < 16; ++m)
      if (random.below(4) == 0)
        placement.push_back({MachineId{m}, static_cast<std::int32_t>(random.below(8) + 1)});
    ModelProfile model = Catalogue::builtin().models()[random.below(20)];
    model.collective = static_cast<Collective>(random.below(4));
    const auto of = [&](const Cluster& cluster) {
      return stretch(model, 0.2, spread_of(cluster, placement, 1), cluster.tiers);
    };
    ASSERT_GE(of(fast), 1);
    ASSERT_GE(of(slow), of(fast));
  }
}

}  // namespace
}  // namespace trainyard
