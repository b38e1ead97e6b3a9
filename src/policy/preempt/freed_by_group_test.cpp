#include "policy/preempt/freed_by_group.h"

#include <gtest/gtest.h>

#include <map>

#include "base/random.h"
#include "yard/testing.h"

namespace trainyard {
namespace {

TEST(FreedByGroup, TheExampleOfTheHeader) {
  HandYard h("2x4xV100");
  FreedByGroup freed(h.yard);
  const JobId a = h.running(gang(1), 0), b = h.running(gang(2), 0), c = h.running(gang(3), 1);
  h.running(gang(1), 1);
  const auto add = [&](JobId job) { return freed.add(job, held_by(h.yard, job)); };
  const auto has_four = [&](JobId job) { return freed.has_beside(job, held_by(h.yard, job), 4); };
  freed.begin(kAnyKind, kMachineTier);
  EXPECT_EQ(add(a), 2) << "one was free";
  EXPECT_EQ(add(c), 3);
  EXPECT_EQ(add(b), 4);
  EXPECT_TRUE(has_four(a));
  EXPECT_FALSE(has_four(c));
  freed.clear();
  EXPECT_FALSE(has_four(a)) << "nobody leaves";
}

constexpr std::uint32_t kPodTier = 2;

/// Racks of three machines of 4 GPUs, two of which are a pod.
Cluster with_pods() {
  Cluster cluster = *parse_cluster_shorthand("6x3x4xV100");
  Tier pod;
  pod.name = "pod";
  pod.racks = 2;
  cluster.tiers.insert(cluster.tiers.begin() + kPodTier, pod);
  return cluster;
}

std::uint32_t group_at(std::size_t tier, MachineId machine) {
  constexpr std::uint32_t kMachinesIn[] = {1, 3, 6, 18};
  return static_cast<std::uint32_t>(machine) / kMachinesIn[tier];
}

/// On up to three machines, next to each other or not; empty if one of them is full.
Placement anywhere(const HandYard& h, Random& random) {
  Placement at;
  const std::size_t machines = 1 + random.below(3);
  for (std::uint32_t m = 0; m < 18 && at.size() < machines; ++m)
    if (random.below(8) == 0) at.push_back({MachineId{m}, 1});
  const bool fits = std::ranges::all_of(
      at, [&](const Share& share) { return h.yard.free().on(share.machine).gpus > 0; });
  return fits ? at : Placement{};
}

std::vector<JobId> fill(HandYard& h, Random& random) {
  std::vector<JobId> jobs;
  for (int i = 0; i < 60; ++i) {
    const Placement at = anywhere(h, random);
    if (!at.empty()) jobs.push_back(h.running(gang(workers(at)), at));
  }
  return jobs;
}

/// One by one, with sums over all machines for a twin: exact but for pods, of which it is enough
/// that none has more than is told.
void against_sums(HandYard& h, FreedByGroup& freed, std::span<const JobId> jobs,
                  std::int32_t needed, std::size_t tier) {
  std::map<std::uint32_t, std::int32_t> sums;
  for (std::uint32_t m = 0; m < 18; ++m) sums[group_at(tier, MachineId{m})] += h.free_gpus(m);
  freed.begin(kAnyKind, tier);
  for (const JobId job : jobs) {
    std::int32_t most = 0;
    for (const Share& share : h.yard.placement(job))
      sums[group_at(tier, share.machine)] += share.workers;
    for (const Share& share : h.yard.placement(job))
      most = std::max(most, sums[group_at(tier, share.machine)]);
    const HeldPlace place = held_by(h.yard, job);
    const std::int32_t told = freed.add(job, place);
    const bool has_enough = freed.has_beside(job, place, needed);
    if (tier != kPodTier) {
      ASSERT_EQ(told, most);
      ASSERT_EQ(has_enough, most >= needed);
    } else {
      ASSERT_GE(told, most);
      ASSERT_TRUE(has_enough || most < needed);
    }
  }
}

TEST(FreedByGroup, AgreesWithSumsOverAllMachines) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Random random(seed);
    HandYard h(with_pods());
    FreedByGroup freed(h.yard);
    const std::vector<JobId> jobs = fill(h, random);
    for (std::size_t tier = 0; tier < 4; ++tier) {
      SCOPED_TRACE(testing::Message() << "seed " << seed << ", tier " << tier);
      const auto needed = 2 + static_cast<std::int32_t>(random.below(12));
      against_sums(h, freed, jobs, needed, tier);
    }
  }
}

}  // namespace
}  // namespace trainyard
