#include "perf/spread.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "base/random.h"

namespace trainyard {
namespace {

constexpr std::string_view kPods = R"(
[network.rack]
gbps = 100
[[network.group]]
name = "pod"
racks = 2
gbps = 300
oversubscription = 2
[network.across]
gbps = 400
[[rack]]
count = 3
[[rack.machine]]
count = 4
[[rack]]
uplink_gbps = 90
[[rack.machine]]
count = 4
nic_gbps = 50
)";

Cluster pods() {
  auto cluster = parse_cluster_toml(kPods, "c.toml");
  EXPECT_TRUE(cluster) << cluster.error().message;
  return std::move(*cluster);
}

Placement on(std::initializer_list<std::pair<std::uint32_t, std::int32_t>> shares) {
  Placement placement;
  for (const auto& [machine, workers] : shares) placement.push_back({MachineId{machine}, workers});
  return placement;
}

TEST(Spread, TheExampleOfTheHeader) {
  const auto cluster = parse_cluster_shorthand("2x2x8xV100");
  ASSERT_TRUE(cluster);
  const Spread spread = spread_of(*cluster, on({{2, 4}, {0, 4}, {1, 4}}), 1);
  EXPECT_EQ(spread.gpus, 12);
  EXPECT_EQ(spread.tier, 2U);
  EXPECT_EQ(spread.exchanges[0].members, 4);
  EXPECT_EQ(spread.exchanges[1].members, 2);
  EXPECT_EQ(spread.exchanges[2].members, 2);
}

TEST(Spread, InOneMachineOnlyGpusExchange) {
  const Spread spread = spread_of(pods(), on({{5, 3}}), 2);
  EXPECT_EQ(spread, spread_in_machine(pods().tiers, 6));
  EXPECT_EQ(spread.exchanges[0].members, 6);
  EXPECT_EQ(spread.exchanges[0].gbps, 4800);
  EXPECT_EQ(spread.exchanges[1].members, 1);
}

TEST(Spread, TheSlowestLinkCounts) {
  const Cluster cluster = pods();
  EXPECT_EQ(spread_of(cluster, on({{0, 1}, {1, 1}}), 1).exchanges[1].gbps, 100);
  EXPECT_EQ(spread_of(cluster, on({{12, 1}, {13, 1}}), 1).exchanges[1].gbps, 50);
  const Spread pod = spread_of(cluster, on({{0, 1}, {1, 1}, {4, 1}, {5, 1}}), 1);
  EXPECT_EQ(pod.exchanges[2].gbps, 150)
      << "two machines could send 200, the oversubscribed rack 150";
  const Spread thin = spread_of(cluster, on({{0, 1}, {4, 1}}), 1);
  EXPECT_EQ(thin.exchanges[2].gbps, 100) << "one machine is all that sends";
  EXPECT_EQ(spread_of(cluster, on({{8, 1}, {12, 1}}), 1).exchanges[2].gbps, 50);
  EXPECT_EQ(spread_of(cluster, on({{8, 1}, {9, 1}, {12, 1}, {13, 1}}), 1).exchanges[2].gbps, 90)
      << "the uplink of the last rack";
}

TEST(Spread, PushesThroughTheBusiestLink) {
  const Cluster cluster = pods();
  const Spread even = spread_of(cluster, on({{0, 4}, {1, 4}}), 1);
  EXPECT_EQ(even.exchanges[1].pushes, 2) << "4 workers push half to the other machine";
  const Spread uneven = spread_of(cluster, on({{0, 7}, {1, 1}}), 1);
  EXPECT_EQ(uneven.exchanges[1].pushes, 3.5);
  const Spread racks = spread_of(cluster, on({{0, 2}, {1, 2}, {4, 4}}), 1);
  EXPECT_NEAR(racks.exchanges[2].pushes, 4 * 2.0 / 3, 1e-12)
      << "two of three servers are elsewhere";
}

TEST(Spread, ASingleServerTakesInWhatAllOthersPush) {
  const Cluster cluster = pods();
  EXPECT_EQ(spread_of(cluster, on({{1, 1}, {0, 7}}), 1).exchanges[1].served, 1)
      << "it is on the machine with the lowest number";
  const Spread racks = spread_of(cluster, on({{0, 1}, {1, 2}, {4, 4}}), 1);
  EXPECT_EQ(racks.exchanges[1].served, 6);
  EXPECT_EQ(racks.exchanges[2].served, 4);
  EXPECT_EQ(spread_in_machine(cluster.tiers, 8).exchanges[0].served, 7);
}

/// By counting groups in maps, without any order.
std::array<int, kMaxTiers> slow_members(const Cluster& cluster, const Placement& placement) {
  std::array<int, kMaxTiers> members{};
  const auto group = [&](std::size_t tier, const Share& share) -> std::uint32_t {
    const auto rack = static_cast<std::uint32_t>(cluster.machine(share.machine).rack);
    if (tier == kMachineTier) return static_cast<std::uint32_t>(share.machine);
    return tier == kRackTier ? rack : group_of(cluster.tiers[tier], rack);
  };
  for (const Share& share : placement) members[0] = std::max(members[0], share.workers);
  for (std::size_t tier = 1; tier < cluster.tiers.size(); ++tier) {
    std::map<std::uint32_t, std::set<std::uint32_t>> children;
    for (const Share& share : placement)
      children[group(tier, share)].insert(group(tier - 1, share));
    for (const auto& [parent, inside] : children)
      members[tier] = std::max(members[tier], static_cast<int>(inside.size()));
  }
  return members;
}

TEST(Spread, AgreesWithCountingInMaps) {
  const Cluster cluster = pods();
  Random random(5);
  for (int round = 0; round < 1000; ++round) {
    std::map<std::uint32_t, std::int32_t> drawn;
    for (std::size_t i = random.below(8) + 1; i > 0; --i)
      drawn[static_cast<std::uint32_t>(random.below(cluster.machines.size()))] =
          static_cast<std::int32_t>(random.below(8) + 1);
    Placement placement;
    for (const auto& [machine, workers] : drawn)
      placement.insert(placement.begin(), {MachineId{machine}, workers});
    const Spread spread = spread_of(cluster, placement, 1);
    const auto members = slow_members(cluster, placement);
    SCOPED_TRACE(testing::Message() << "round " << round << " of seed 5");
    ASSERT_EQ(spread.gpus, workers(placement));
    for (std::size_t tier = 0; tier < cluster.tiers.size(); ++tier)
      ASSERT_EQ(spread.exchanges[tier].members, members[tier]) << "tier " << tier;
  }
}

}  // namespace
}  // namespace trainyard
