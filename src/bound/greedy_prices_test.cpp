#include "bound/greedy_prices.h"

#include <gtest/gtest.h>

namespace trainyard {
namespace {

TEST(GreedyPrices, FollowTheLinesOfTheWorkedExample) {
  const std::vector<Gang> gangs{{0, 0, 3, 1}, {0, 0, 1, 1}};
  Prices prices{{0, 0.5, 1, 2, 4, 5}, std::vector<double>(5)};
  set_greedy_prices(gangs, 1, prices);
  EXPECT_DOUBLE_EQ(prices.price[0], 1.75);
  EXPECT_DOUBLE_EQ(prices.price[1], 1.25);
  EXPECT_DOUBLE_EQ(prices.price[2], 2.5 / 3);
  EXPECT_DOUBLE_EQ(prices.price[3], 1.0 / 3);
  EXPECT_EQ(prices.price[4], 0) << "the GPU is idle";
}

/// The long job's line is the same before and after the short one, which comes at 1 and goes first.
TEST(GreedyPrices, RiseWhereAShortJobComes) {
  const std::vector<Gang> gangs{{0, 0, 4, 1}, {1, 1, 1, 1}};
  Prices prices{{0, 1, 2, 5}, std::vector<double>(3)};
  set_greedy_prices(gangs, 1, prices);
  EXPECT_DOUBLE_EQ(prices.price[2], 1.5 / 4);
  EXPECT_DOUBLE_EQ(prices.price[1], 3.0 / 4 + 0.5) << "that at 2, and the short job's slope of 1";
  EXPECT_DOUBLE_EQ(prices.price[0], 4.5 / 4);
}

TEST(GreedyPrices, AreNothingWhereJobsCannotUseAllGpus) {
  const std::vector<Gang> gangs{{0, 0, 4, 1}};
  Prices prices{{0, 2, 4}, {7, 7}};
  set_greedy_prices(gangs, 2, prices);
  EXPECT_EQ(prices.price, (std::vector<double>{0, 0}));
}

}  // namespace
}  // namespace trainyard
