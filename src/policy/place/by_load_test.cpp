#include <gtest/gtest.h>

#include <set>

#include "policy/members.h"
#include "yard/testing.h"

namespace trainyard {
namespace {

/// Three machines of 8 GPUs; a long job on the first, a short one on the second.
struct ByLoad : testing::Test {
  ByLoad() : h("3x8xV100"), context(h.yard, {.seed = 7}) {
    h.running(gang(2, 1, hours(10)), 0);
    h.running(gang(4, 1, hours(1)), 1);
  }

  Placement lwf(JobId job, const std::string& k) {
    Params params;
    params.set("k", k);
    Placement out;
    return place_lwf().make(params, context)->find(job, nullptr, out) ? out : Placement{};
  }

  HandYard h;
  PolicyContext context;
};

TEST_F(ByLoad, AGangFillsTheMachinesWithTheLeastWork) {
  EXPECT_EQ(lwf(h.submit(gang(8)), "1"), on(2, 8));
  EXPECT_EQ(lwf(h.submit(gang(10)), "1"), (Placement{{MachineId{2}, 8}, {MachineId{1}, 2}}))
      << "4 GPU hours are less than 20, on however many GPUs";
}

TEST_F(ByLoad, ASmallJobTakesAGpuAfterTheOther) {
  EXPECT_EQ(lwf(h.submit(gang(1)), "1"), on(2, 1));
  // 3 h a worker: two on the empty machine reach 6 GPU hours, more than the 4 of the second.
  EXPECT_EQ(lwf(h.submit(gang(4, 1, hours(3))), "4"),
            (Placement{{MachineId{1}, 1}, {MachineId{2}, 3}}));
}

TEST_F(ByLoad, WorkShrinksAsJobsRun) {
  h.at(minutes(59));
  h.submit(gang(1));
  h.running(gang(2, 1, minutes(30)), 2);
  EXPECT_EQ(lwf(h.submit(gang(2)), "1"), on(1, 2)) << "a minute is left there";
}

TEST_F(ByLoad, NoRoomIsNoPlace) {
  EXPECT_TRUE(lwf(h.submit(gang(19)), "1").empty());
  EXPECT_TRUE(lwf(h.submit(gang(19)), "100").empty());
  EXPECT_EQ(workers(lwf(h.submit(gang(18)), "100")), 18);
}

TEST_F(ByLoad, LotsFallEverywhereAndTheSameForASeed) {
  const auto draw = [&](std::uint64_t seed) {
    PolicyContext seeded(h.yard, {.seed = seed});
    const auto stage = place_random().make({}, seeded);
    std::vector<Placement> placements;
    for (int i = 0; i < 30; ++i) {
      placements.emplace_back();
      EXPECT_TRUE(stage->find(h.submit(gang(2)), nullptr, placements.back()));
      EXPECT_EQ(workers(placements.back()), 2);
    }
    return placements;
  };
  std::set<MachineId> seen;
  for (const Placement& placement : draw(7))
    for (const Share& share : placement) seen.insert(share.machine);
  EXPECT_EQ(seen.size(), 3U);
  EXPECT_EQ(draw(7), draw(7));
  EXPECT_NE(draw(7), draw(8));
}

}  // namespace
}  // namespace trainyard
