#include "study/distribution.h"

#include <gtest/gtest.h>

#include <numeric>

namespace trainyard {
namespace {

TEST(Distribution, NoValuesHaveNoQuantiles) {
  EXPECT_TRUE(distribution_of({}).quantiles.empty());
  EXPECT_TRUE(pooled({}).quantiles.empty());
}

TEST(Distribution, OneValueIsEveryQuantile) {
  std::vector<double> values{7};
  EXPECT_EQ(distribution_of(values).quantiles, std::vector<double>(kQuantilePoints, 7));
}

TEST(Distribution, QuantilesAreTheNearestRanks) {
  std::vector<double> values(1000);
  std::iota(values.rbegin(), values.rend(), 1);  // 1000 .. 1
  const std::vector<double> q = distribution_of(values).quantiles;
  ASSERT_EQ(q.size(), kQuantilePoints);
  EXPECT_EQ(q.front(), 1);
  EXPECT_EQ(q[1], 5);  // 0.5% of 1000 values are the 5 smallest
  EXPECT_EQ(q[100], 500);
  EXPECT_EQ(q[190], 950);
  EXPECT_EQ(q.back(), 1000);
}

TEST(Distribution, FewValuesRepeat) {
  std::vector<double> values{3, 1};
  const std::vector<double> q = distribution_of(values).quantiles;
  EXPECT_EQ(q[0], 1);
  EXPECT_EQ(q[100], 1);
  EXPECT_EQ(q[101], 3);
}

TEST(Distribution, PoolingWeighsEveryPartAlike) {
  std::vector<double> many(10'000, 1.0), few{5, 5};
  const Distribution parts[] = {distribution_of(many), distribution_of(few), {}};
  const std::vector<double> q = pooled(parts).quantiles;
  EXPECT_EQ(q[100], 1);
  EXPECT_EQ(q[101], 5);
  EXPECT_EQ(q.back(), 5);
}

TEST(Distribution, PoolingOnePartGivesIt) {
  std::vector<double> values(777);
  std::iota(values.begin(), values.end(), 0);
  const Distribution part = distribution_of(values);
  EXPECT_EQ(pooled({&part, 1}), part);
}

}  // namespace
}  // namespace trainyard
