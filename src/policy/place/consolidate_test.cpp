#include <gtest/gtest.h>

#include <set>

#include "base/random.h"
#include "policy/members.h"
#include "yard/testing.h"

namespace trainyard {
namespace {

std::unique_ptr<PlaceStage> make(const HandYard& h, const std::string& wait_for) {
  Params params;
  params.set("wait_for", wait_for);
  PolicyContext context(h.yard);
  return place_consolidate().make(params, context);
}

/// Where it would put the job; empty when it finds no room.
Placement place(const HandYard& h, JobId job, const std::string& wait_for = "none",
                const Avoid* avoid = nullptr) {
  Placement out;
  if (!make(h, wait_for)->find(job, avoid, out)) return {};
  return out;
}

std::size_t racks(const HandYard& h, const Placement& placement) {
  std::set<RackId> used;
  for (const Share& share : placement) used.insert(h.cluster.machine(share.machine).rack);
  return used.size();
}

TEST(Consolidate, OneMachineIfOneWillDo) {
  HandYard h("3x8xV100");
  h.running(gang(4), 0), h.running(gang(2), 1);
  EXPECT_EQ(place(h, h.submit(gang(4))), on(0, 4)) << "the least room that suffices";
  EXPECT_EQ(place(h, h.submit(gang(5))), on(1, 5));
  EXPECT_EQ(place(h, h.submit(gang(7))), on(2, 7));
}

TEST(Consolidate, TheMostRoomFirstAndTheTightestLast) {
  HandYard h("4x8xV100");
  h.running(gang(4), 1), h.running(gang(5), 2);
  const Placement expected{{MachineId{0}, 8}, {MachineId{3}, 8}, {MachineId{2}, 3}};
  EXPECT_EQ(place(h, h.submit(gang(19))), expected);
}

TEST(Consolidate, OfEqualSlotsTheFewestFreeGpus) {
  HandYard h("2x8xV100");
  h.running(gang(3), 0), h.running(gang(4), 1);  // 5 and 4 free: two workers of 2 GPUs on either
  EXPECT_EQ(place(h, h.submit(gang(2, 2))), on(1, 2));
}

TEST(Consolidate, CountsTheSlotsThatCpusLeave) {
  HandYard h("6x8xV100");
  Job cpu_hog = gang(1);
  cpu_hog.per_worker.milli_cpus = 84'000;  // of 96
  for (std::uint32_t m = 0; m < 4; ++m) h.running(cpu_hog, m);
  h.running(gang(4), 4), h.running(gang(4), 5);
  Job job = gang(8);
  job.per_worker.milli_cpus = 12'000;  // one on each of the first four, four on each of the others
  const Placement expected{{MachineId{4}, 4}, {MachineId{5}, 4}};
  EXPECT_EQ(place(h, h.submit(job)), expected);
}

TEST(Consolidate, OneRackIfThatCostsNoFurtherMachine) {
  HandYard h("3x4x4xV100");
  // Rack 0 has 8 free in crumbs, rack 1 one whole machine and little else, rack 2 two whole ones.
  for (const std::uint32_t m : {0, 1, 2, 3}) h.running(gang(2), m);
  for (const std::uint32_t m : {5, 6, 7}) h.running(gang(3), m);
  for (const std::uint32_t m : {8, 9}) h.running(gang(4), m);
  const Placement expected{{MachineId{10}, 4}, {MachineId{11}, 4}};
  EXPECT_EQ(place(h, h.submit(gang(8))), expected);
}

TEST(Consolidate, TheFullestRackThatWillDo) {
  HandYard h("2x3x4xV100");
  h.running(gang(4), 3);
  const Placement placed = place(h, h.submit(gang(8)));
  ASSERT_EQ(placed.size(), 2U);
  EXPECT_EQ(h.cluster.machine(placed[0].machine).rack, RackId{1}) << "8 free against 12";
  EXPECT_EQ(racks(h, placed), 1U);
}

TEST(Consolidate, AnotherRackRatherThanAnotherMachine) {
  HandYard h("2x2x4xV100");
  h.running(gang(2), 1), h.running(gang(2), 3);
  EXPECT_EQ(racks(h, place(h, h.submit(gang(8)))), 2U);
}

TEST(Consolidate, WhoWaitsForTheFewestMachinesItCouldEverHave) {
  HandYard h("3x8xV100");
  h.workload.models.add("vgg16");
  h.running(gang(2), 0), h.running(gang(2), 1), h.running(gang(2), 2);
  Job skewed = gang(8);
  skewed.model = ModelId{0};
  const JobId plain = h.submit(gang(8)), vgg = h.submit(skewed);
  EXPECT_TRUE(place(h, plain, "all").empty());
  EXPECT_TRUE(place(h, vgg, "all").empty());
  EXPECT_EQ(place(h, plain, "skewed").size(), 2U);
  EXPECT_TRUE(place(h, vgg, "skewed").empty());
  EXPECT_EQ(place(h, vgg, "none").size(), 2U);

  const auto all = make(h, "all"), skew = make(h, "skewed");
  EXPECT_EQ(all->reach(plain).machines, 1);
  EXPECT_EQ(skew->reach(plain).machines, 8);
  EXPECT_EQ(skew->reach(vgg).machines, 1);
  EXPECT_EQ(all->reach(h.submit(gang(17))).machines, 3);
}

TEST(Consolidate, KeepsOffWhatItMustAvoid) {
  HandYard h("2x8xV100");
  const Avoid avoid{true, false};
  EXPECT_EQ(place(h, h.submit(gang(4)), "none", &avoid), on(1, 4));
  EXPECT_TRUE(place(h, h.submit(gang(12)), "none", &avoid).empty());
}

// --- Against exhaustive search -------------------------------------------------------------------

/// The fewest machines of this rack (or of all) by trying every set of them; 0 when none has room.
std::size_t fewest(const HandYard& h, const Shape& shape, std::optional<RackId> rack) {
  std::vector<std::int32_t> slots;
  for (std::size_t m = 0; m < h.cluster.machines.size(); ++m) {
    const MachineId id{static_cast<std::uint32_t>(m)};
    const Machine& machine = h.cluster.machine(id);
    const bool usable = h.yard.free().is_up(id) && (!rack || machine.rack == *rack) &&
                        (shape.kind == kAnyKind || machine.kind == shape.kind);
    slots.push_back(usable ? workers_that_fit(shape.per_worker, h.yard.free().on(id), shape.workers)
                           : 0);
  }
  std::size_t best = 0;
  for (unsigned set = 1; set < 1U << slots.size(); ++set) {
    std::int32_t room = 0;
    for (std::size_t m = 0; m < slots.size(); ++m)
      if ((set >> m & 1U) != 0) room += slots[m];
    const auto size = static_cast<std::size_t>(std::popcount(set));
    if (room >= shape.workers && (best == 0 || size < best)) best = size;
  }
  return best;
}

Job random_job(Random& random, int most_workers) {
  Job job =
      gang(1 + static_cast<int>(random.below(most_workers)), 1 + static_cast<int>(random.below(3)));
  job.per_worker.milli_cpus = 6'000 * static_cast<int>(random.below(8));
  if (random.uniform() < 0.3) job.kind = KindId{static_cast<std::uint16_t>(random.below(2))};
  return job;
}

TEST(Consolidate, TheFewestMachinesProvenByExhaustiveSearch) {
  const Cluster cluster = *parse_cluster_toml(
      "[[rack]]\ncount = 2\n[[rack.machine]]\ncount = 3\nkind = \"A\"\n[[rack.machine]]\n"
      "count = 2\ngpus = 4\nkind = \"B\"\n",
      "test");
  int several = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Random random(seed);
    HandYard h(cluster);
    h.workload.kinds.add("A"), h.workload.kinds.add("B");
    if (seed % 4 == 0)
      h.tell(EventKind::machine_down, MachineId{static_cast<std::uint32_t>(random.below(10))});
    for (int i = 0; i < 15; ++i) {
      const Job job = random_job(random, 2);
      const JobId id = h.submit(job);
      (void)h.start(id, on(static_cast<std::uint32_t>(random.below(10)), job.workers));
    }
    const JobId job = h.submit(random_job(random, 16));
    const Shape& shape = h.yard.shape(job);
    const std::size_t expected = fewest(h, shape, {});
    const Placement placed = place(h, job);
    ASSERT_EQ(placed.size(), expected);
    if (expected == 0) continue;
    several += expected > 1;
    const bool one_rack =
        fewest(h, shape, RackId{0}) == expected || fewest(h, shape, RackId{1}) == expected;
    ASSERT_EQ(racks(h, placed) == 1, one_rack);
    ASSERT_EQ(h.start(job, placed), Verdict::ok);
  }
  EXPECT_GT(several, 30) << "or the scenes are too easy";
}

}  // namespace
}  // namespace trainyard
