#include "network/links.h"

#include <gtest/gtest.h>

namespace trainyard {
namespace {

constexpr std::string_view kPods = R"(
[network.rack]
gbps = 80
oversubscription = 2
[[network.group]]
name = "pod"
racks = 2
gbps = 160
[network.across]
gbps = 400
oversubscription = 4
[[rack]]
count = 3
[[rack.machine]]
count = 2
[[rack]]
uplink_gbps = 8
[[rack.machine]]
nic_gbps = 16
)";

TEST(Links, OfMachinesRacksAndGroupsUpAndDown) {
  const auto cluster = parse_cluster_toml(kPods, "c.toml");
  ASSERT_TRUE(cluster) << cluster.error().message;
  const Links links(*cluster);
  ASSERT_EQ(links.capacities().size(), 2U * (7 + 4 + 2));
  const auto both = [&](std::size_t tier, std::uint32_t member, const std::string& name,
                        double gbps) {
    const LinkId up = links.up(tier, member), down = links.down(tier, member);
    EXPECT_EQ(links.name(up), name + " up");
    EXPECT_EQ(links.name(down), name + " down");
    EXPECT_EQ(links.capacity(up), gbps / 8 * 1e9) << name;
    EXPECT_EQ(links.capacity(down), gbps / 8 * 1e9) << name;
  };
  both(kRackTier, 0, "r0m0", 40);
  both(kRackTier, 3, "r1m1", 40);
  both(kRackTier, 6, "r3m0", 8);
  both(kRackTier + 1, 0, "rack 0", 160);
  both(kRackTier + 1, 3, "rack 3", 8);
  both(kRackTier + 2, 0, "pod 0", 100);
  both(kRackTier + 2, 1, "pod 1", 100);
}

TEST(Links, WhatHasNoOthersHasNoLink) {
  const auto rack = parse_cluster_shorthand("4x8xV100"),
             racks = parse_cluster_shorthand("2x4x8xV100");
  EXPECT_EQ(Links(*rack).capacities().size(), 2U * 4) << "there is no other rack";
  EXPECT_EQ(Links(*racks).capacities().size(), 2U * (8 + 2));
  EXPECT_EQ(Links(*rack).name(LinkId{7}), "r0m3 down");
}

TEST(Links, TheExampleOfTheHeader) {
  const auto cluster = parse_cluster_toml(
      "[network.rack]\ngbps = 100\n[network.across]\ngbps = 50\n[[rack]]\ncount = 2\n"
      "[[rack.machine]]\ncount = 2\n",
      "c.toml");
  ASSERT_TRUE(cluster) << cluster.error().message;
  const Links links(*cluster);
  ASSERT_EQ(links.capacities().size(), 12U);
  EXPECT_EQ(links.capacities()[7], 12.5e9);
  EXPECT_EQ(links.capacities()[8], 6.25e9);
  EXPECT_EQ(links.name(LinkId{8}), "rack 0 up");
}

}  // namespace
}  // namespace trainyard
