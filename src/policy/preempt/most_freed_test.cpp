#include "policy/preempt/most_freed.h"

#include <gtest/gtest.h>

#include <map>

#include "base/random.h"
#include "yard/testing.h"

namespace trainyard {
namespace {

TEST(MostFreed, TheExampleOfTheHeader) {
  HandYard h("2x4xV100");
  Pausable<int> running;
  const auto run = [&](std::int32_t gpus, std::uint32_t machine, int rank) {
    running.add(h.yard, h.running(gang(gpus), machine), rank);
  };
  run(2, 0, 9), run(2, 0, 5), run(3, 1, 7), run(1, 1, 3);
  MostFreed<int> most(h.yard);
  EXPECT_TRUE(most.could_have(4, kMachineTier, running, 4));
  EXPECT_FALSE(most.could_have(4, kMachineTier, running, 6)) << "whoever has asked for more before";
  EXPECT_TRUE(most.could_have(3, kMachineTier, running, 6));
  EXPECT_FALSE(most.could_have(5, kMachineTier, running, 0));
  EXPECT_TRUE(most.could_have(5, kRackTier, running, 6));
}

TEST(MostFreed, WhatIsFreeAgainCounts) {
  HandYard h("1x4xV100");
  Pausable<int> running;
  const JobId starting = h.submit(gang(2));
  HandYard::must(h.start(starting, on(0, 2)));
  running.add(h.yard, h.running(gang(2), 0), 1);
  MostFreed<int> most(h.yard);
  EXPECT_FALSE(most.could_have(4, kMachineTier, running, 0));
  h.tell(EventKind::crashed, starting);
  EXPECT_TRUE(most.could_have(4, kMachineTier, running, 0));
}

/// Racks of two machines of 4 GPUs, where jobs with ranks come, go and change.
struct RankedJobs {
  HandYard h{*parse_cluster_shorthand("3x2x4xV100"), {.min_run = minutes(10)}};
  Pausable<int> pausable;
  std::map<JobId, int> ranks;  // of those that run

  JobId any(Random& random) { return std::next(ranks.begin(), random.below(ranks.size()))->first; }

  /// True: something is free again.
  bool step(Random& random) {
    const auto rank = static_cast<int>(random.below(8));
    const auto machine = static_cast<std::uint32_t>(random.below(6));
    const auto wanted = 1 + static_cast<std::int32_t>(random.below(2));
    if (!ranks.empty() && random.uniform() < 0.3) {
      const JobId job = any(random);
      pausable.remove(job);
      ranks.erase(job);
      h.tell(EventKind::finished, job);
      return true;
    }
    if (!ranks.empty() && random.uniform() < 0.2) {
      const JobId job = any(random);
      pausable.rerank(h.yard, job, rank);
      ranks[job] = rank;
    } else if (h.free_gpus(machine) >= wanted) {
      const JobId job = h.running(gang(wanted), machine);
      pausable.add(h.yard, job, rank);
      ranks[job] = rank;
    }
    return false;
  }

  /// By a look at every job.
  [[nodiscard]] std::int32_t most(std::size_t tier, int above) const {
    constexpr std::uint32_t kMachinesIn[] = {1, 2, 6};
    std::map<std::uint32_t, std::int32_t> free, sums;
    for (std::uint32_t m = 0; m < 6; ++m) free[m / kMachinesIn[tier]] += h.free_gpus(m);
    for (const auto& [job, rank] : ranks) {
      if (rank <= above) continue;
      if (h.yard.state(job).since + h.yard.rules().min_run > h.yard.now()) continue;
      const Share& share = h.yard.placement(job).front();
      const std::uint32_t group = static_cast<std::uint32_t>(share.machine) / kMachinesIn[tier];
      sums.try_emplace(group, free[group]).first->second += share.workers;
    }
    std::int32_t most = 0;
    for (const auto& [group, sum] : sums) most = std::max(most, sum);
    return most;
  }
};

TEST(MostFreed, AgreesWithALookAtEveryJob) {
  int exact = 0, in_vain = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Random random(seed);
    RankedJobs scene;
    MostFreed<int> known(scene.h.yard);
    for (int minute = 1; minute <= 200; ++minute) {
      scene.h.at(minutes(minute));
      const bool is_free_again = scene.step(random);
      for (int ask = 0; ask < 8; ++ask) {
        const std::size_t tier = random.below(3);
        const auto above = static_cast<int>(random.below(9)) - 1;
        const auto gpus = 1 + static_cast<std::int32_t>(random.below(tier == 0 ? 5 : 10));
        const bool could = scene.most(tier, above) >= gpus;
        const bool told = known.could_have(gpus, tier, scene.pausable, above);
        if (is_free_again) {
          ASSERT_EQ(told, could) << "minute " << minute;
          ++exact;
        }
        ASSERT_TRUE(told || !could) << "minute " << minute;
        in_vain += !told;
      }
    }
  }
  EXPECT_GT(exact, 1000);
  EXPECT_GT(in_vain, 1000);
}

}  // namespace
}  // namespace trainyard
