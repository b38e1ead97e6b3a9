#include "policy/preempt/freed_by_group.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "base/random.h"
#include "yard/testing.h"

namespace trainyard {
namespace {

TEST(FreedByGroup, TheExampleOfTheHeader) {
  HandYard h("2x4xV100");
  FreedByGroup freed(h.yard);
  const auto run = [&](std::int32_t workers, std::uint32_t machine) {
    const JobId job = h.running(gang(workers), machine);
    freed.note_place(job);
    return job;
  };
  const JobId a = run(1, 0), b = run(2, 0), c = run(3, 1);
  run(1, 1);
  freed.begin(h.yard.shape(h.submit(gang(4))), {1, kMachineTier});
  EXPECT_FALSE(freed.add(a));
  EXPECT_FALSE(freed.add(c));
  EXPECT_TRUE(freed.add(b));
  EXPECT_TRUE(freed.matters(a));
  EXPECT_FALSE(freed.matters(c));
  freed.clear();
  EXPECT_FALSE(freed.matters(a)) << "nobody leaves";
}

TEST(FreedByGroup, WhereGpusAreFreeAnybodyWhoLeavesMayDo) {
  HandYard h("1x4xV100");
  FreedByGroup freed(h.yard);
  const JobId a = h.running(gang(1), 0), b = h.running(gang(1), 0);
  freed.note_place(a), freed.note_place(b);
  freed.begin(h.yard.shape(h.submit(gang(2))), {1, kMachineTier});
  EXPECT_TRUE(freed.add(a)) << "what it holds of the CPUs may be what is missing";
  EXPECT_FALSE(freed.add(b)) << "that is known";
  EXPECT_TRUE(freed.matters(b));
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

std::vector<JobId> fill(HandYard& h, FreedByGroup& freed, Random& random) {
  std::vector<JobId> jobs;
  for (int i = 0; i < 60; ++i) {
    const Placement at = anywhere(h, random);
    if (at.empty()) continue;
    jobs.push_back(h.running(gang(workers(at)), at));
    freed.note_place(jobs.back());
  }
  return jobs;
}

/// One by one, with sums over all machines for a twin: exact but for pods, of which it is enough
/// that none with room is left out.
void against_sums(HandYard& h, FreedByGroup& freed, std::span<const JobId> jobs, JobId waiter,
                  std::size_t tier) {
  const std::int32_t needed = h.yard.shape(waiter).gpus();
  std::map<std::uint32_t, std::int32_t> sums;
  std::set<std::uint32_t> could;
  for (std::uint32_t m = 0; m < 18; ++m) sums[group_at(tier, MachineId{m})] += h.free_gpus(m);
  freed.begin(h.yard.shape(waiter), {needed, tier});
  for (const JobId job : jobs) {
    bool is_one_more = false, matters = false;
    for (const Share& share : h.yard.placement(job)) {
      std::int32_t& sum = sums[group_at(tier, share.machine)];
      sum += share.workers;
      if (sum >= needed) is_one_more |= could.insert(group_at(tier, share.machine)).second;
    }
    for (const Share& share : h.yard.placement(job))
      matters |= sums[group_at(tier, share.machine)] >= needed;
    const bool told = freed.add(job);
    if (tier != kPodTier) {
      ASSERT_EQ(told, is_one_more);
      ASSERT_EQ(freed.matters(job), matters);
    } else if (matters) {
      ASSERT_TRUE(freed.matters(job));
    }
  }
}

TEST(FreedByGroup, AgreesWithSumsOverAllMachines) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Random random(seed);
    HandYard h(with_pods());
    FreedByGroup freed(h.yard);
    const std::vector<JobId> jobs = fill(h, freed, random);
    for (std::size_t tier = 0; tier < 4; ++tier) {
      SCOPED_TRACE(testing::Message() << "seed " << seed << ", tier " << tier);
      const JobId waiter = h.submit(gang(2 + static_cast<std::int32_t>(random.below(12))));
      against_sums(h, freed, jobs, waiter, tier);
    }
  }
}

}  // namespace
}  // namespace trainyard
