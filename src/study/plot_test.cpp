#include "study/plot.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>

#include "study/well_formed.h"

namespace trainyard {
namespace {

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
    ++found;
  return found;
}

Chart two_lines() {
  Chart chart;
  chart.title = "Waiting";
  chart.x = {"time in the queue", Unit::seconds, Scale::log, {}, {}};
  chart.y = {"share of jobs", Unit::share, Scale::linear, 0, 1};
  chart.series = {{"fifo", {{1, 0}, {3600, 1}}, 0}, {"a<b", {{60, 0}, {7200, 1}}, 1}};
  return chart;
}

TEST(Plot, HasTitleLabelsTicksLegendAndLines) {
  const std::string svg = to_svg(two_lines());
  EXPECT_EQ(not_well_formed(svg), "");
  for (const char* text : {">Waiting<", ">time in the queue<", ">share of jobs<", ">1 min<",
                           ">1 h<", ">100%<", ">fifo<", ">a&lt;b<"})
    EXPECT_NE(svg.find(text), std::string::npos) << text;
  EXPECT_EQ(count(svg, "class=\"line\""), 4U) << "two lines, two in the legend";
}

TEST(Plot, ALineGoesFromTheAxisStartToItsEnd) {
  Chart chart = two_lines();
  chart.series = {{"fifo", {{1, 0}, {100, 1}}, 0}};
  chart.legend = false;
  chart.width = 400, chart.plot_height = 100;
  EXPECT_NE(to_svg(chart).find("class=\"line\" d=\"M54.0 126.0L384.0 26.0\""), std::string::npos);
}

TEST(Plot, ABandLiesAroundItsLineAndWithinTheAxes) {
  Chart chart = two_lines();
  chart.series = {{"fifo", {{1, 2}, {100, 3}}, 0, {{1, 1, 3}, {100, 2, 5}}}};
  chart.y = {"", Unit::number, Scale::linear, {}, {}};
  chart.legend = false;
  chart.width = 400, chart.plot_height = 100;
  // From 1 to 5, which the points alone do not reach.
  EXPECT_NE(
      to_svg(chart).find("class=\"area\" d=\"M54.0 76.0L384.0 26.0L384.0 101.0L54.0 126.0Z\""),
      std::string::npos)
      << to_svg(chart);
}

TEST(Plot, ZerosOnALogarithmicAxisStandAtItsStart) {
  Chart chart = two_lines();
  EXPECT_EQ(to_svg(chart).find(">0</text>"), std::string::npos);
  chart.series[0].points.insert(chart.series[0].points.begin(), {{0, 0}, {0, 0.4}});
  const std::string svg = to_svg(chart);
  EXPECT_NE(svg.find(">0</text>"), std::string::npos);
  EXPECT_NE(svg.find("class=\"line\" d=\"M54.0 "), std::string::npos);
}

TEST(Plot, TinyValuesDoNotStretchTheAxis) {
  Chart chart = two_lines();
  chart.series[0].points.front().x = 1e-300;
  const std::string svg = to_svg(chart);
  EXPECT_NE(svg.find(">1 h<"), std::string::npos);
  EXPECT_EQ(svg.find("nan"), std::string::npos);
}

TEST(Plot, NothingToDrawIsStillAChart) {
  for (const Scale scale : {Scale::linear, Scale::log}) {
    Chart chart;
    chart.x.scale = scale;
    EXPECT_EQ(not_well_formed(to_svg(chart)), "");
    chart.series = {{"one value", {{5, 5}}, 0}, {"none", {}, 1}, {"zero", {{0, 0}}, 2}};
    const std::string svg = to_svg(chart);
    EXPECT_EQ(not_well_formed(svg), "");
    EXPECT_EQ(svg.find("nan"), std::string::npos);
    EXPECT_EQ(svg.find("inf"), std::string::npos);
  }
}

TEST(Plot, PointsThatAreNotFiniteAreLeftOut) {
  Chart chart = two_lines();
  const std::string before = to_svg(chart);
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  chart.series[0].points.insert(chart.series[0].points.begin(), {nan, 0.5});
  chart.series[0].points.push_back({1, std::numeric_limits<double>::infinity()});
  EXPECT_EQ(to_svg(chart), before);
}

TEST(Plot, LongNamesAreCutAndToldInFull) {
  Chart chart = two_lines();
  const std::string name(200, 'x');
  chart.series[0].name = name;
  const std::string svg = to_svg(chart);
  EXPECT_NE(svg.find("x…<title>" + name + "</title>"), std::string::npos);
}

TEST(Plot, SixtyFourSeriesLookDifferent) {
  std::set<std::string> classes;
  for (std::size_t style = 0; style < 64; ++style) classes.insert(series_class(style));
  EXPECT_EQ(classes.size(), 64U);
}

TEST(Plot, AnAreaReachesDownToTheAxis) {
  Chart chart = two_lines();
  chart.filled = true;
  EXPECT_EQ(count(to_svg(chart), "class=\"area\""), 2U);
}

}  // namespace
}  // namespace trainyard
