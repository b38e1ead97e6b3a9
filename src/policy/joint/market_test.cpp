#include <gtest/gtest.h>

#include "policy/testing.h"

namespace trainyard {
namespace {

/// Of each kind a machine with 3 GPUs and two with 2: no kind has room for two workers of 3 GPUs,
/// though each has 7 GPUs.
Cluster torn() {
  std::string text = "[[rack]]\n";
  for (const char* kind : {"V100", "K80"})
    for (const int gpus : {3, 2, 2})
      text += fmt::format("[[rack.machine]]\ngpus = {}\nkind = \"{}\"\n", gpus, kind);
  return *parse_cluster_toml(text, "torn");
}

TEST(MarketPolicy, AGangThatOnlySeveralKindsTogetherHaveRoomForStarts) {
  for (const char* kinds : {"seen", "ignored"}) {
    HandPolicy h(torn(), "joint=market", {fmt::format("joint.kinds={}", kinds)});
    const JobId job = h.submit(gang(2, 3, hours(1)));
    h.decide();
    EXPECT_EQ(h.phase(job), Phase::running) << kinds;
    EXPECT_EQ(h.yard.placement(job), (Placement{{MachineId{0}, 1}, {MachineId{3}, 1}})) << kinds;
  }
}

}  // namespace
}  // namespace trainyard
