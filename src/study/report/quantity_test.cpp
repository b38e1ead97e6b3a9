#include "study/report/quantity.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace trainyard {
namespace {

/// Heading, then the column: "x (h): 1.20 ± 0.05, 3.00 ± 0.10".
std::string column(Quantity quantity, const std::vector<Interval>& values) {
  const NumberFormat format(quantity, values);
  std::string text = format.heading("x");
  for (const Interval& value : values)
    text += fmt::format("{} {} {}", text.back() == ')' || text == "x" ? ":" : ",",
                        format.mean(value), format.spread(value));
  return text;
}

TEST(NumberFormat, OneUnitForAColumnOfTimes) {
  EXPECT_EQ(column(Quantity::seconds, {{3540, 60}, {11'520, 0}, {12, 6}}),
            "x (min): 59.00 ± 1.00, 192.00 ± 0.00, 0.20 ± 0.10");
  EXPECT_EQ(column(Quantity::seconds, {{62'494, 360}, {248'184, 3600}}),
            "x (h): 17.4 ± 0.1, 68.9 ± 1.0");
  EXPECT_EQ(column(Quantity::seconds, {{0, 0}, {864'000, 86'400}}), "x (d): 0.0 ± 0.0, 10.0 ± 1.0")
      << "nothing is nothing in any unit";
  EXPECT_EQ(column(Quantity::seconds, {{0.3, 0}, {10'800, 0}}), "x (s): 0.3 ± 0.0, 10800.0 ± 0.0");
  EXPECT_EQ(column(Quantity::seconds, {{0.25, 0.01}}), "x (ms): 250 ± 10");
  EXPECT_EQ(column(Quantity::seconds, {{0, 0}}), "x (s): 0 ± 0");
}

TEST(ColumnFormat, TimesThatAreFarApartHaveUnitsOfTheirOwn) {
  const std::vector<Interval> far{{0.3, 0.1}, {10'800, 600}, {0, 0}}, near{{1800, 60}, {7200, 60}};
  const ColumnFormat by_cell(Quantity::seconds, far), one(Quantity::seconds, near);
  EXPECT_EQ(by_cell.heading("x"), "x");
  EXPECT_EQ(by_cell.mean(far[0]), "300 ms");
  EXPECT_EQ(by_cell.mean(far[1]), "3.00 h");
  EXPECT_EQ(by_cell.mean(far[2]), "0 s");
  EXPECT_EQ(by_cell.mean_and_spread(far[1]),
            std::pair(std::string("3.00"), std::string("± 0.17 h")));
  EXPECT_EQ(one.heading("x"), "x (min)");
  EXPECT_EQ(one.mean(near[1]), "120.0");
}

TEST(NumberFormat, AUnitOfTheirSize) {
  const auto unit = [](double s) { return NumberFormat(Quantity::seconds, {{{s, 0}}}).unit(); };
  EXPECT_EQ(unit(0.5), "ms");
  EXPECT_EQ(unit(90), "s");
  EXPECT_EQ(unit(600), "min");
  EXPECT_EQ(unit(9000), "h");
  EXPECT_EQ(unit(-9000), "h");
  EXPECT_EQ(unit(864'000), "d");
}

TEST(NumberFormat, SharesRatiosAndCounts) {
  EXPECT_EQ(column(Quantity::share, {{0.783, 0.004}, {0.0094, 0.1061}, {2.01, 0.17}}),
            "x (%): 78.3 ± 0.4, 0.9 ± 10.6, 201.0 ± 17.0");
  EXPECT_EQ(column(Quantity::share, {{0.0005, 0}}), "x (%): 0.05 ± 0.00");
  EXPECT_EQ(column(Quantity::ratio, {{1.234, 0}, {45.6, 2}}), "x: 1.23 ± 0.00, 45.60 ± 2.00");
  EXPECT_EQ(column(Quantity::ratio, {{3.8, 0}, {2578, 12}}), "x: 3.8 ± 0.0, 2578.0 ± 12.0");
  EXPECT_EQ(column(Quantity::count, {{7, 0}, {0, 0}}), "x: 7 ± 0, 0 ± 0");
  EXPECT_EQ(column(Quantity::count, {{7.5, 6.4}, {120, 3}}), "x: 7.50 ± 6.40, 120.00 ± 3.00");
}

TEST(NumberFormat, WhatIsNotDefinedIsADashAndHasNoSay) {
  EXPECT_EQ(column(Quantity::seconds, {{std::nan(""), std::nan("")}, {9000, 0}}),
            "x (h): - , 2.50 ± 0.00");
  EXPECT_EQ(NumberFormat(Quantity::share, {}).with_unit("-"), "-");
}

TEST(NumberFormat, EndsOfAnInterval) {
  const Interval hours{9000, 360};
  const NumberFormat format(Quantity::seconds, {&hours, 1});
  EXPECT_EQ(format.with_unit(format.ends(hours)), "2.40 to 2.60 h");
  EXPECT_EQ(format.ends({std::nan(""), 0}), "-");
}

}  // namespace
}  // namespace trainyard
