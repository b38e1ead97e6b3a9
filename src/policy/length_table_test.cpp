#include "policy/length_table.h"

#include <gtest/gtest.h>

#include <array>

namespace trainyard {
namespace {

LengthOutlook outlook(const LengthTable& table, double outlived) {
  const std::array<const LengthTable*, 1> classes{&table};
  return length_outlook(classes, outlived);
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
  EXPECT_NEAR(length_outlook(classes, 0).length, (0.4 + 2 * all) / 3, 1e-3);
  EXPECT_NEAR(length_outlook(classes, 0.5).length, 1, 1e-9) << "only the declaration is left";
}

TEST(LengthTable, WhatIsLongAgoCountsLess) {
  LengthTable table;
  for (int i = 0; i < 1024; ++i) table.add(0.1);
  for (int i = 0; i < 1024; ++i) table.add(0.3);
  EXPECT_NEAR(outlook(table, 0).length, (0.1 + 2 * 0.3) / 3, 2e-3);
}

TEST(LengthTable, TakesAnyLength) {
  LengthTable table;
  for (const double part : {1e-30, 1e30}) table.add(part);
  EXPECT_EQ(table.bins().front().at, 0U);
  EXPECT_EQ(table.bins().back().at, LengthTable::kBins - 1);
}

}  // namespace
}  // namespace trainyard
