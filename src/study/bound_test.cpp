#include "study/bound.h"

#include <gtest/gtest.h>

namespace trainyard {
namespace {

LowerBound bound_of(Prices prices) {
  return {1, 1, 1, std::move(prices)};
}

TEST(MeanPrices, AreMeansOverPartsAndSeeds) {
  const std::vector<LowerBound> bounds{bound_of({{0, 1, 4, 9}, {3, 1, 0}}),
                                       bound_of({{0, 2, 9}, {2, 0}})};
  const std::vector<PriceAt> parts = mean_prices(bounds, 2);
  ASSERT_EQ(parts.size(), 2U);
  EXPECT_DOUBLE_EQ(parts[0].at_s, 1);
  EXPECT_DOUBLE_EQ(parts[0].price, ((3 + 1) / 2.0 + 2) / 2);
  EXPECT_DOUBLE_EQ(parts[1].at_s, 3);
  EXPECT_DOUBLE_EQ(parts[1].price, 1 / 2.0);
}

TEST(MeanPrices, AreNoneWhereGpuTimeIsWorthNothing) {
  EXPECT_TRUE(mean_prices(std::vector{bound_of({{0, 9}, {0}})}, 2).empty());
}

}  // namespace
}  // namespace trainyard
