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

/// To wait for all of the GPUs looks better than to go on with half of them; but no other would
/// have that half meanwhile.
TEST(MarketPolicy, AJobDoesNotLeaveGpusThatNoOtherHasBought) {
  HandPolicy h("1x4xV100", "joint=market", {"yard.min_run=0", "joint.round=1s"});
  Job open = gang(4, 1, minutes(10));
  open.min_workers = 2, open.max_workers = 4;
  const JobId first = h.submit(open);
  h.decide();
  h.at(seconds(2));
  const JobId second = h.submit(gang(2, 1, minutes(1)));
  h.decide();
  ASSERT_EQ(h.phase(first), Phase::draining);
  h.tell(EventKind::drained, first);
  h.decide();
  ASSERT_EQ(h.phases(), "running running");
  for (int s = 3; s < 20; ++s) {
    h.at(seconds(s));
    h.decide();
    ASSERT_EQ(h.phase(first), Phase::running) << "after " << s << " s";
  }
  EXPECT_EQ(h.phase(second), Phase::running);
}

}  // namespace
}  // namespace trainyard
