#include "market/tournament.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "base/random.h"

namespace trainyard {
namespace {

TEST(Tournament, OfNobodyAndOfOne) {
  EXPECT_EQ(Tournament(0).best(), Tournament::kOut);
  Tournament one(1);
  EXPECT_EQ(one.best(), Tournament::kOut);
  one.set(0, 3);
  EXPECT_EQ(one.winner(), 0);
  EXPECT_EQ(one.best(), 3);
  one.fill(1, [](std::size_t) { return 5.0; });
  EXPECT_EQ(one.best(), 5);
}

TEST(Tournament, KnowsTheLargestWhileValuesChange) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Random random(seed);
    std::vector<double> values(1 + random.below(20));
    Tournament tournament(values.size());
    for (double& value : values) value = static_cast<double>(random.below(5));
    tournament.fill(values.size(), [&](std::size_t i) { return values[i]; });
    for (int change = 0; change < 100; ++change) {
      ASSERT_EQ(tournament.best(), std::ranges::max(values));
      ASSERT_EQ(values[tournament.winner()], tournament.best());
      const std::size_t i = random.below(values.size());
      values[i] = random.below(4) == 0 ? Tournament::kOut : static_cast<double>(random.below(5));
      tournament.set(i, values[i]);
      ASSERT_EQ(tournament.value(i), values[i]);
    }
  }
}

}  // namespace
}  // namespace trainyard
