#include "policy/preempt/newcomers.h"

#include <gtest/gtest.h>

#include "base/random.h"

namespace trainyard {
namespace {

/// Beside a plain list of all.
TEST(Newcomers, NoneThatRanksHighEnoughIsLeftOut) {
  struct Known {
    Time since;
    JobId job = kNoJob;
    int rank = 0;
  };
  Random random(1, 1);
  Newcomers<int> newcomers;
  std::deque<Known> all;
  Time now;
  for (std::uint32_t step = 0; step < 5000; ++step) {
    now = now + seconds(static_cast<std::int64_t>(random.below(2)));
    if (all.empty() || random.below(5) < 3) {
      all.push_back({now, JobId{step}, static_cast<int>(random.below(1000))});
      newcomers.push({now, JobId{step}}, all.back().rank);
    } else if (random.below(2) == 0) {
      ASSERT_EQ(newcomers.front().job, all.front().job);
      newcomers.pop_front();
      all.pop_front();
    } else {
      Known& one = all[random.below(all.size())];
      one.rank = static_cast<int>(random.below(1200));
      newcomers.raise(one.since, one.rank);
    }
    ASSERT_EQ(newcomers.empty(), all.empty());
    const int enough = static_cast<int>(random.below(1200));
    std::vector<JobId> visited, wanted;
    newcomers.each([&](int rank) { return rank >= enough; },
                   [&](const auto& newcomer) {
                     visited.push_back(newcomer.job);
                     return true;
                   });
    EXPECT_TRUE(std::ranges::is_sorted(visited));
    for (const Known& one : all)
      if (one.rank >= enough) wanted.push_back(one.job);
    EXPECT_TRUE(std::ranges::includes(visited, wanted)) << "after step " << step;
  }
}

TEST(Newcomers, BlocksOfLowRanksAreNotLookedAt) {
  Newcomers<int> newcomers;
  for (std::uint32_t j = 0; j < 1000; ++j) newcomers.push({Time{}, JobId{j}}, j == 700 ? 9 : 1);
  std::size_t looked_at = 0;
  newcomers.each([](int rank) { return rank > 5; }, [&](const auto&) { return ++looked_at > 0; });
  EXPECT_LE(looked_at, 64U);
  EXPECT_GE(looked_at, 1U);
}

}  // namespace
}  // namespace trainyard
