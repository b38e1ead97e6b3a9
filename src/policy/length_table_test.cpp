#include "policy/length_table.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>

namespace trainyard {
namespace {

LengthOutlook outlook(const LengthTable& table, double outlived) {
  const std::array<const LengthTable*, 1> classes{&table};
  return LengthMixture(classes).outlook(outlived, 0.001);
}

/// The example of the header; what is a job or two ago counts a little less than 1.
TEST(LengthTable, TheMeanOfThoseThatRanAtLeastAsLong) {
  LengthTable table;
  for (const double part : {0.2, 0.2, 0.5}) table.add(part);
  EXPECT_NEAR(outlook(table, 0).length, 2.9 / 5, 1e-3);
  EXPECT_NEAR(outlook(table, 0).until, 0.202, 1e-9) << "a hundredth more than 0.2";
  EXPECT_NEAR(outlook(table, 0.201).length, 2.9 / 5, 1e-3) << "about to end";
  EXPECT_NEAR(outlook(table, 0.21).length, 2.5 / 3, 1e-3);
  EXPECT_NEAR(outlook(table, 0.6).length, 1, 1e-9);
  EXPECT_NEAR(outlook(table, 0.6).until, 1.01, 1e-9);
  EXPECT_DOUBLE_EQ(outlook(table, 3).length, 6) << "as long again";
  EXPECT_GT(outlook(table, 3).until, 3);
}

TEST(LengthTable, IsExactWhereDeclarationsAre) {
  LengthTable table;
  for (int i = 0; i < 5000; ++i) table.add(1);
  EXPECT_EQ(outlook(table, 0.7).length, 1);
}

TEST(LengthTable, AClassThatKnowsLittleIsMixedWithAWiderOne) {
  LengthTable narrow, wide;
  for (int i = 0; i < 20; ++i) wide.add(0.1);
  narrow.add(0.4);
  const std::array<const LengthTable*, 2> classes{&narrow, &wide};
  const double all = (20 * 0.1 + 2) / 22;
  EXPECT_NEAR(LengthMixture(classes).outlook(0, 0).length, (0.4 + 2 * all) / 3, 1e-3);
  EXPECT_NEAR(LengthMixture(classes).outlook(0.5, 0).length, 1, 1e-9)
      << "only the declaration is left";
}

TEST(LengthTable, WhatIsLongAgoCountsLess) {
  LengthTable table;
  for (int i = 0; i < 1024; ++i) table.add(0.1);
  for (int i = 0; i < 1024; ++i) table.add(0.3);
  EXPECT_NEAR(outlook(table, 0).length, (0.1 + 2 * 0.3) / 3, 2e-3);
}

/// 99 of 0.01 and one of 100, and the two of x = 1.
TEST(LengthTable, WhereLengthsVaryMuchHowLongAJobHasRunSaysMoreThanTheirMean) {
  LengthTable table;
  for (int i = 0; i < 99; ++i) table.add(0.01);
  table.add(100);
  const double weight = 102, mean = (0.99 + 100 + 2) / weight;
  const double variation = (0.0099 + 10'000 + 2) / weight / (mean * mean) - 1;
  const auto between = [&](double left, double run) {
    return std::pow(left, 1 / variation) * std::pow(run, 1 - 1 / variation);
  };
  ASSERT_GT(variation, 50);
  EXPECT_NEAR(outlook(table, 0).length, between(mean, 0.001), 1e-3) << "a moment";
  EXPECT_NEAR(outlook(table, 0).until, outlook(table, 0).length, 1e-12)
      << "and something else is believed when it has outlived that";
  EXPECT_NEAR(outlook(table, 2).length, 2 + between(98, 2), 2e-2) << "nearly as long again";
  EXPECT_GT(outlook(table, 2).until, 2);
  EXPECT_NEAR(outlook(table, 100.5).length, 100.5, 1e-9) << "about to end";
}

TEST(LengthTable, TakesAnyLength) {
  LengthTable table;
  for (const double part : {1e-30, 1e30}) table.add(part);
  EXPECT_EQ(table.bins().front().at, 0U);
  EXPECT_EQ(table.bins().back().at, LengthTable::kBins - 1);
}

}  // namespace
}  // namespace trainyard
