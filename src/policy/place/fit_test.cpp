#include <gtest/gtest.h>

#include <numeric>

#include "base/random.h"
#include "policy/members.h"
#include "yard/testing.h"

namespace trainyard {
namespace {

using MakeMember = Member<PlaceStage> (*)();

Placement place(MakeMember member, const HandYard& h, JobId job, const Avoid* avoid = nullptr) {
  Placement out;
  PolicyContext context(h.yard);
  Params params;
  for (const ParamSpec& spec : member().info.params) params.set(spec.name, spec.default_value);
  if (!member().make(params, context)->find(job, avoid, out)) return {};
  return out;
}

TEST(FirstFit, FillsMachinesByNumber) {
  HandYard h("3x8xV100");
  h.running(gang(6), 0);
  EXPECT_EQ(place(place_first_fit, h, h.submit(gang(4))),
            (Placement{{MachineId{0}, 2}, {MachineId{1}, 2}}));
  EXPECT_EQ(place(place_first_fit, h, h.submit(gang(1, 4))), on(1, 1));
}

TEST(BestFit, TakesTheLeastFreeThatSuffice) {
  HandYard h("3x8xV100");
  h.running(gang(2), 0), h.running(gang(5), 1);
  EXPECT_EQ(place(place_best_fit, h, h.submit(gang(1, 3))), on(1, 1));
  EXPECT_EQ(place(place_best_fit, h, h.submit(gang(1, 4))), on(0, 1));
  EXPECT_EQ(place(place_best_fit, h, h.submit(gang(4))),
            (Placement{{MachineId{1}, 3}, {MachineId{0}, 1}}));
}

TEST(Spread, AWorkerEachOnTheEmptiest) {
  HandYard h("3x8xV100");
  h.running(gang(4), 0);
  EXPECT_EQ(place(place_spread, h, h.submit(gang(2))),
            (Placement{{MachineId{1}, 1}, {MachineId{2}, 1}}));
  EXPECT_EQ(place(place_spread, h, h.submit(gang(5))),
            (Placement{{MachineId{1}, 2}, {MachineId{2}, 2}, {MachineId{0}, 1}}));
}

TEST(Spread, MoreWorkersWhereOthersAreFull) {
  HandYard h("2x8xV100");
  h.running(gang(7), 0);
  EXPECT_EQ(place(place_spread, h, h.submit(gang(5))),
            (Placement{{MachineId{1}, 4}, {MachineId{0}, 1}}));
}

class AnyPlacement : public testing::TestWithParam<MakeMember> {};

TEST_P(AnyPlacement, KeepsOffWhatItMustAvoid) {
  HandYard h("2x8xV100");
  const Avoid avoid{true, false};
  EXPECT_EQ(place(GetParam(), h, h.submit(gang(4)), &avoid), on(1, 4));
  EXPECT_TRUE(place(GetParam(), h, h.submit(gang(9)), &avoid).empty());
}

/// Finds room exactly when all slots together suffice, and the yard accepts what it finds.
TEST_P(AnyPlacement, FindsRoomWheneverThereIsAny) {
  const Cluster cluster = *parse_cluster_toml(
      "[[rack]]\n[[rack.machine]]\ncount = 3\nkind = \"A\"\n[[rack.machine]]\ncount = 2\n"
      "gpus = 4\nkind = \"B\"\n",
      "test");
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Random random(seed);
    HandYard h(cluster);
    h.workload.kinds.add("B");
    h.tell(EventKind::machine_down, MachineId{static_cast<std::uint32_t>(random.below(5))});
    for (int i = 0; i < 12; ++i) {
      Job job = gang(1 + static_cast<int>(random.below(8)), 1 + static_cast<int>(random.below(2)));
      job.per_worker.milli_cpus = 6'000 * static_cast<int>(random.below(6));
      if (random.uniform() < 0.3) job.kind = KindId{0};
      const JobId id = h.submit(job);
      const Shape& shape = h.yard.shape(id);
      std::int32_t slots = 0;
      for (std::uint32_t m = 0; m < 5; ++m)
        if (h.yard.free().is_up(MachineId{m}) &&
            (shape.kind == kAnyKind || cluster.machines[m].kind == shape.kind))
          slots += workers_that_fit(shape.per_worker, h.yard.free().on(MachineId{m}), job.workers);
      const Placement placed = place(GetParam(), h, id);
      ASSERT_EQ(!placed.empty(), slots >= job.workers);
      if (placed.empty()) continue;
      ASSERT_EQ(h.start(id, placed), Verdict::ok) << "job " << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Members, AnyPlacement,
                         testing::Values(&place_first_fit, &place_best_fit, &place_spread,
                                         &place_lwf, &place_random));

}  // namespace
}  // namespace trainyard
