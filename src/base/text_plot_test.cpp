#include "base/text_plot.h"

#include <gtest/gtest.h>

#include <cmath>

namespace trainyard {
namespace {

TEST(TextPlot, PutsPointsWhereTheyBelong) {
  const std::vector<PlotSeries> series{{'.', {{1, 0.1}, {5, 0.5}, {9, 0.9}}}, {'o', {{5, 0.5}}}};
  EXPECT_EQ(plot(series, 9, 3),
            "0.9 |        .\n"
            "    |    o\n"
            "0.1 |.\n"
            "     1       9\n");
}

TEST(TextPlot, OnePointOrOneValueIsALine) {
  EXPECT_EQ(plot(std::vector<PlotSeries>{{'o', {{3, 2}}}}, 4, 2), "2 |\n2 |o\n   3  3\n");
}

TEST(TextPlot, WithoutPointsThereIsNothing) {
  EXPECT_EQ(plot(std::vector<PlotSeries>{{'o', {}}}, 4, 2), "");
  EXPECT_EQ(plot(std::vector<PlotSeries>{{'o', {{std::nan(""), 1}, {1, INFINITY}}}}, 4, 2), "");
}

}  // namespace
}  // namespace trainyard
