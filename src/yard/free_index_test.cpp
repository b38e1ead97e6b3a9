#include "yard/free_index.h"

#include <gtest/gtest.h>

#include "base/random.h"

namespace trainyard {
namespace {

constexpr std::string_view kMixed = R"(
[[rack]]
count = 2
[[rack.machine]]
count = 3
gpus = 8
kind = "V100"
[[rack.machine]]
count = 2
gpus = 4
kind = "T4"
[[rack]]
[[rack.machine]]
gpus = 0
kind = "T4"
)";

/// What the index must say, by looking at every machine.
void expect_true(const Cluster& cluster, const FreeIndex& free, KindId kind) {
  const FreeIndex::OfKind& of = free.of(kind);
  std::int64_t total = 0;
  std::vector<std::int64_t> in_rack(cluster.racks.size());
  for (std::size_t m = 0; m < cluster.machines.size(); ++m) {
    const MachineId id{static_cast<std::uint32_t>(m)};
    const bool listed = free.is_up(id) && (kind == kAnyKind || cluster.machines[m].kind == kind);
    const auto gpus = static_cast<std::size_t>(free.on(id).gpus);
    ASSERT_EQ(of.machines.next(m, gpus, gpus) == m, listed) << cluster.machines[m].name;
    if (!listed) continue;
    total += free.on(id).gpus;
    in_rack[index(cluster.machines[m].rack)] += free.on(id).gpus;
  }
  ASSERT_EQ(of.free_gpus, total);
  for (std::size_t r = 0; r < in_rack.size(); ++r) {
    ASSERT_EQ(of.free_in_rack[r], in_rack[r]);
    const std::size_t bucket = std::min(static_cast<std::size_t>(in_rack[r]), of.racks.max_count());
    ASSERT_EQ(of.racks.next(r, bucket, bucket), r);
  }
}

void against_brute_force(const Cluster& cluster, std::uint64_t seed, int steps) {
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  Random random(seed);
  FreeIndex free(cluster);
  std::vector<Resources> taken(cluster.machines.size());
  for (int step = 0; step < steps; ++step) {
    const std::size_t m = random.below(cluster.machines.size());
    const MachineId machine{static_cast<std::uint32_t>(m)};
    if (random.uniform() < 0.1) {
      free.set_up(machine, random.uniform() < 0.5);
    } else if (random.uniform() < 0.5 && taken[m].gpus > 0) {
      free.give(machine, {.gpus = 1, .milli_cpus = 500});
      taken[m] -= {.gpus = 1, .milli_cpus = 500};
    } else if (free.on(machine).gpus > 0) {
      free.take(machine, {.gpus = 1, .milli_cpus = 500});
      taken[m] += {.gpus = 1, .milli_cpus = 500};
    }
    ASSERT_EQ(free.on(machine), cluster.machines[m].capacity - taken[m]);
    ASSERT_NO_FATAL_FAILURE(expect_true(cluster, free, kAnyKind));
    for (std::size_t k = 0; k < cluster.kinds.size(); ++k)
      ASSERT_NO_FATAL_FAILURE(expect_true(cluster, free, KindId{static_cast<std::uint16_t>(k)}));
  }
}

TEST(FreeIndex, AgreesWithBruteForceOnSeveralKinds) {
  against_brute_force(*parse_cluster_toml(kMixed, "mixed"), 1, 2000);
}

TEST(FreeIndex, AgreesWithBruteForceOnOneKind) {
  against_brute_force(*parse_cluster_shorthand("3x4x8xV100"), 2, 2000);
}

TEST(FreeIndex, AgreesWithBruteForceWhereRacksExceedTheBuckets) {
  const Cluster cluster = *parse_cluster_shorthand("2x20x64xV100");  // 1280 GPUs a rack
  ASSERT_EQ(FreeIndex(cluster).of(kAnyKind).racks.max_count(), FreeIndex::kRackBuckets);
  against_brute_force(cluster, 3, 1000);
}

TEST(FreeIndex, AMachineThatIsDownKeepsItsBooksButIsNotFound) {
  const Cluster cluster = *parse_cluster_shorthand("1x8xV100");
  FreeIndex free(cluster);
  free.take(MachineId{0}, {.gpus = 3});
  free.set_up(MachineId{0}, false);
  EXPECT_EQ(free.of(kAnyKind).free_gpus, 0);
  EXPECT_EQ(free.of(kAnyKind).machines.next(0, 0), CountIndex::kNone);
  free.give(MachineId{0}, {.gpus = 1});
  EXPECT_EQ(free.on(MachineId{0}).gpus, 6);
  free.set_up(MachineId{0}, true);
  free.set_up(MachineId{0}, true);  // twice is once
  EXPECT_EQ(free.of(kAnyKind).free_gpus, 6);
}

TEST(FreeIndex, CountsHowOftenThereWasMore) {
  const Cluster cluster = *parse_cluster_shorthand("1x8xV100");
  FreeIndex free(cluster);
  const std::uint64_t before = free.gives();
  free.take(MachineId{0}, {.gpus = 3});
  free.set_up(MachineId{0}, false);
  EXPECT_EQ(free.gives(), before);
  free.set_up(MachineId{0}, true);
  EXPECT_EQ(free.gives(), before + 1);
  free.give(MachineId{0}, {.gpus = 1});
  EXPECT_EQ(free.gives(), before + 2);
}

}  // namespace
}  // namespace trainyard
