#include "network/levels.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <limits>

#include "base/random.h"

namespace trainyard {
namespace {

constexpr double kNone = std::numeric_limits<double>::infinity();

TEST(Levels, TheExampleOfTheHeader) {
  std::vector<Demand> demands{{kNone, 1, 1, 10, 7}, {1, 1, 1, 10, 8}, {kNone, 1, 1, 10, 9}};
  LevelFinder().find(demands);
  EXPECT_EQ(demands[0].name, 8U) << "in order of limits";
  EXPECT_DOUBLE_EQ(demands[0].level, 10.0 / 3);
  EXPECT_DOUBLE_EQ(demands[1].level, 4.5);
  EXPECT_DOUBLE_EQ(demands[2].level, 4.5);
}

TEST(Levels, AloneAFlowHasAllTheRoomAndWithoutRoomNothing) {
  std::vector<Demand> one{{2, 4, 1, 10, 0}}, none{{2, 1, 1, 0, 0}, {kNone, 1, 0.5, 0, 0}};
  LevelFinder finder;
  finder.find(one);
  EXPECT_DOUBLE_EQ(one[0].level, 2.5);
  finder.find(none);
  EXPECT_EQ(none[0].level, 0);
  EXPECT_EQ(none[1].level, 0);
}

TEST(Levels, SolveTheirEquation) {
  LevelFinder finder;
  for (std::uint64_t seed = 1; seed <= 2000; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Random random(seed);
    std::vector<Demand> demands(1 + random.below(12));
    const double room = random.uniform(0, 10);
    for (Demand& demand : demands) {
      demand.limit = random.below(5) == 0 ? kNone : random.uniform(0, 5);
      if (random.below(5) == 0) demand.limit = demands[0].limit;
      demand.weight = random.uniform(0.1, 3);
      demand.average = demand.weight * (random.below(2) == 0 ? 1 : random.uniform(0.01, 1));
      demand.room = random.below(2) == 0 ? room : random.uniform(0, 10);
    }
    finder.find(demands);
    for (const Demand& own : demands) {
      double used = own.weight * own.level;
      for (const Demand& other : demands)
        if (&other != &own) used += other.average * std::min(own.level, other.limit);
      ASSERT_NEAR(used, own.room, 1e-12 * (1 + own.room));
    }
  }
}

}  // namespace
}  // namespace trainyard
