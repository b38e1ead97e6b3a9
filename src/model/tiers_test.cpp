#include "model/tiers.h"

#include <gtest/gtest.h>

#include <set>

#include "base/random.h"
#include "model/cluster.h"

namespace trainyard {
namespace {

constexpr std::string_view kPods = R"(
[network.machine]
gbps = 2400
[network.rack]
gbps = 200
latency_us = 3
[[network.group]]
name = "block"
racks = 2
gbps = 800
latency_us = 10
[[network.group]]
name = "pod"
racks = 6
oversubscription = 2
[network.across]
gbps = 400
latency_us = 80
oversubscription = 4
[[rack]]
count = 13
[[rack.machine]]
count = 3
)";

std::string tiers_error(std::string_view network) {
  const auto cluster =
      parse_cluster_toml(fmt::format("{}\n[[rack]]\n[[rack.machine]]\n", network), "c.toml");
  return cluster ? "no error" : cluster.error().message;
}

TEST(Tiers, ByDefaultThree) {
  const auto cluster = parse_cluster_shorthand("2x2x8xV100");
  ASSERT_TRUE(cluster);
  ASSERT_EQ(cluster->tiers.size(), 3U);
  EXPECT_EQ(cluster->tiers[kMachineTier].link_gbps(), 600 * 8);
  EXPECT_EQ(cluster->tiers[kRackTier].link_gbps(), 200 * 8);
  EXPECT_EQ(cluster->tiers[2].link_gbps(), 400 * 8);
  EXPECT_EQ(cluster->tiers[2].latency_us, 50);
  EXPECT_EQ(cluster->machines[0].nic_gbps, 1600);
}

TEST(Tiers, EveryFieldArrivesAndTheRestIsDefault) {
  const auto cluster = parse_cluster_toml(kPods, "c.toml");
  ASSERT_TRUE(cluster) << cluster.error().message;
  ASSERT_EQ(cluster->tiers.size(), 5U);
  EXPECT_EQ(cluster->tiers[0].gbps, 2400);
  EXPECT_EQ(cluster->tiers[0].latency_us, 0.5);
  EXPECT_EQ(cluster->tiers[1].latency_us, 3);
  EXPECT_EQ(cluster->machines[0].nic_gbps, 200);
  EXPECT_EQ(cluster->tiers[2].name, "block");
  EXPECT_EQ(cluster->tiers[2].racks, 2U);
  EXPECT_EQ(cluster->tiers[2].link_gbps(), 800);
  EXPECT_EQ(cluster->tiers[3].name, "pod");
  EXPECT_EQ(cluster->tiers[3].link_gbps(), 200) << "the 400 of across, halved";
  EXPECT_EQ(cluster->tiers[4].name, "across");
  EXPECT_EQ(cluster->tiers[4].link_gbps(), 100);
}

TEST(Tiers, TheLowestThatHoldsThePlacement) {
  const auto cluster = parse_cluster_toml(kPods, "c.toml");
  ASSERT_TRUE(cluster);
  const auto tier = [&](std::initializer_list<std::uint32_t> machines) {
    Placement placement;
    for (const std::uint32_t machine : machines) placement.push_back({MachineId{machine}, 1});
    return tier_of(*cluster, placement);
  };
  EXPECT_EQ(tier({}), 0U);
  EXPECT_EQ(tier({5}), 0U);
  EXPECT_EQ(tier({5, 3}), 1U) << "both in rack 1";
  EXPECT_EQ(tier({3, 2}), 2U) << "racks 1 and 0, the first block";
  EXPECT_EQ(tier({5, 6}), 3U) << "racks 1 and 2, blocks 0 and 1, the first pod";
  EXPECT_EQ(tier({17, 18}), 4U) << "racks 5 and 6, pods 0 and 1";
  EXPECT_EQ(tier({38, 0, 20}), 4U) << "the last pod has one rack";
}

/// The definition, word for word: tier by tier, all pairs in the same group.
std::size_t slow_tier_of(const Cluster& cluster, const Placement& placement) {
  for (std::size_t tier = 0; tier + 1 < cluster.tiers.size(); ++tier) {
    bool together = true;
    for (const Share& a : placement)
      for (const Share& b : placement) {
        const auto rack_a = static_cast<std::uint32_t>(cluster.machine(a.machine).rack);
        const auto rack_b = static_cast<std::uint32_t>(cluster.machine(b.machine).rack);
        together &= tier == kMachineTier ? a.machine == b.machine
                    : tier == kRackTier
                        ? rack_a == rack_b
                        : rack_a / cluster.tiers[tier].racks == rack_b / cluster.tiers[tier].racks;
      }
    if (together) return tier;
  }
  return cluster.tiers.size() - 1;
}

TEST(Tiers, AgreesWithTheDefinition) {
  const auto cluster = parse_cluster_toml(kPods, "c.toml");
  ASSERT_TRUE(cluster);
  Random random(11);
  for (int round = 0; round < 2000; ++round) {
    const std::size_t near = random.below(cluster->machines.size());
    std::set<std::size_t> machines;
    for (std::size_t i = random.below(4) + 1; i > 0; --i)
      machines.insert(std::min(cluster->machines.size() - 1, near + random.below(12)));
    Placement placement;
    for (const std::size_t machine : machines)
      placement.push_back({MachineId{static_cast<std::uint32_t>(machine)}, 1});
    ASSERT_EQ(tier_of(*cluster, placement), slow_tier_of(*cluster, placement))
        << "round " << round << " of seed 11";
  }
}

TEST(Tiers, ErrorsNameLineFieldAndWhatWouldBeRight) {
  EXPECT_EQ(tiers_error("[network]\nracks = 3"),
            "c.toml:2: unknown field 'racks', did you mean 'rack'?");
  EXPECT_EQ(tiers_error("[network.rack]\ngbps = 0"),
            "c.toml:2: gbps = '0'; it must be a number from 1e-06 to 1e9");
  EXPECT_EQ(tiers_error("[network.across]\noversubscription = 0.5"),
            "c.toml:2: oversubscription = '0.5'; it must be a number from 1 to 1000");
  EXPECT_EQ(tiers_error("[network.across]\nlatency_us = -1"),
            "c.toml:2: latency_us = '-1'; it must be a number from 0 to 1e6");
  EXPECT_EQ(tiers_error("[network]\nrack = 3"), "c.toml:2: rack = '3'; it must be a [rack] table");
  EXPECT_EQ(tiers_error("network = 3"), "c.toml:1: network = '3'; it must be a [network] table");
}

TEST(Tiers, GroupsMustNestAndBeNamed) {
  EXPECT_EQ(tiers_error("[[network.group]]\nracks = 2"),
            "c.toml:1: a group without a name; write name = \"pod\"");
  EXPECT_EQ(tiers_error("[[network.group]]\nname = \"pod\""),
            "c.toml:1: a group without racks; write racks = 4 for four of them");
  EXPECT_EQ(tiers_error("[[network.group]]\nname = \"pod\"\nracks = 1"),
            "c.toml:3: racks = '1'; it must be a whole number from 2 to 1000000");
  EXPECT_EQ(tiers_error("[[network.group]]\nname = \"across\"\nracks = 2"),
            "c.toml:1: there are two tiers named 'across'");
  const std::string pod = "[[network.group]]\nname = \"pod\"\nracks = 4\n";
  EXPECT_EQ(tiers_error(pod + pod), "c.toml:4: there are two tiers named 'pod'");
  EXPECT_EQ(tiers_error(pod + "[[network.group]]\nname = \"row\"\nracks = 6\n"),
            "c.toml:4: 'row' has 6 racks; it must have two or more times the 4 of 'pod'");
  EXPECT_EQ(tiers_error(pod + "[[network.group]]\nname = \"row\"\nracks = 4\n"),
            "c.toml:4: 'row' has 4 racks; it must have two or more times the 4 of 'pod'");
  std::string many;
  for (int i = 0; i < 6; ++i)
    many += fmt::format("[[network.group]]\nname = \"g{}\"\nracks = {}\n", i, 2 << i);
  EXPECT_EQ(tiers_error(many), "c.toml:16: more than 8 tiers");
}

}  // namespace
}  // namespace trainyard
