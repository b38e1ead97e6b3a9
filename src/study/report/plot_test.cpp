#include "study/report/plot.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <regex>
#include <set>
#include <vector>

#include "study/report/well_formed.h"

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
                           ">2 h<", ">100%<", ">fifo<", ">a&lt;b<"})
    EXPECT_NE(svg.find(text), std::string::npos) << text;
  EXPECT_EQ(count(svg, "class=\"line\""), 4U) << "two lines, two in the legend";
}

TEST(Plot, ALineGoesFromTheAxisStartToItsEnd) {
  Chart chart = two_lines();
  chart.series = {{"fifo", {{1, 0}, {60, 1}}, 0}};
  chart.legend = false;
  chart.width = 400, chart.plot_height = 100;
  EXPECT_NE(to_svg(chart).find("class=\"line\" d=\"M54.0 126.0L384.0 26.0\""), std::string::npos);
}

TEST(Plot, ABandLiesAroundItsLineAndWithinTheAxes) {
  Chart chart = two_lines();
  chart.series = {{"fifo", {{1, 2}, {60, 3}}, 0, {{1, 1, 3}, {60, 2, 4}}}};
  chart.y = {"", Unit::number, Scale::linear, {}, {}};
  chart.legend = false;
  chart.width = 400, chart.plot_height = 100;
  // From 0 to 4, which the points alone do not reach.
  EXPECT_NE(to_svg(chart).find("class=\"area\" d=\"M54.0 51.0L384.0 26.0L384.0 76.0L54.0 101.0Z\""),
            std::string::npos)
      << to_svg(chart);
}

/// The values of an attribute of all elements that match, in their order.
std::vector<double> numbers(const std::string& svg, const std::string& pattern) {
  const std::regex regex(pattern);
  std::vector<double> found;
  for (std::sregex_iterator at(svg.begin(), svg.end(), regex), end; at != end; ++at)
    found.push_back(std::stod((*at)[1]));
  return found;
}

TEST(Plot, AReferenceIsALineAcrossWithItsLabel) {
  Chart chart = two_lines();
  chart.references = {{0.5, "paper ≥ 50.0 %", 1}};
  chart.legend = false;
  chart.width = 400, chart.plot_height = 100;
  const std::string svg = to_svg(chart);
  EXPECT_EQ(not_well_formed(svg), "");
  EXPECT_NE(svg.find("reference\"><path d=\"M54 76.0H306.8\"/>"), std::string::npos) << svg;
  EXPECT_NE(svg.find(">paper ≥ 50.0 %</text>"), std::string::npos);
}

TEST(Plot, TheAxisReachesToAReference) {
  Chart chart = two_lines();
  chart.y = {"", Unit::share, Scale::linear, {}, {}};
  chart.references = {{2, "far", 0}};
  EXPECT_NE(to_svg(chart).find(">200%</text>"), std::string::npos);
}

TEST(Plot, LabelsOfReferencesNeitherMeetNorLeaveThePlot) {
  Chart chart = two_lines();
  chart.legend = false;
  chart.references = {{1, "a", 0}, {0.99, "b", 0}, {0.98, "c", 0}, {0, "d", 0}, {0.01, "e", 0}};
  std::vector<double> at = numbers(to_svg(chart), "reference.*<text x=\"[0-9.]+\" y=\"([0-9.]+)\"");
  ASSERT_EQ(at.size(), 5U);
  std::ranges::sort(at);
  EXPECT_GE(at.front(), 26 + 4) << "below the legend";
  EXPECT_LE(at.back(), 26 + chart.plot_height + 4) << "above the labels of the axis";
  for (std::size_t i = 1; i < at.size(); ++i) EXPECT_GE(at[i] - at[i - 1], 11);
}

TEST(Plot, LabelsOfTicksAreWithinTheChartAndApart) {
  for (const double longest_s : {90.0, 5400.0, 90'000.0, 2e6, 4e7}) {
    Chart chart = two_lines();
    chart.series[0].points.push_back({longest_s * 7200, 1});
    const std::string svg = to_svg(chart);
    const std::vector<double> at = numbers(svg, "class=\"tick\" x=\"([0-9.]+)\"[^>]*middle");
    ASSERT_GE(at.size(), 3U);
    EXPECT_DOUBLE_EQ(at.front(), 54) << "where the axis begins";
    EXPECT_GE(at.back(), chart.width - 2 * 16 - 6) << "where it ends";
    EXPECT_LE(at.back(), chart.width - 12);
    for (std::size_t i = 1; i < at.size(); ++i) EXPECT_GE(at[i] - at[i - 1], 30) << svg;
  }
}

TEST(Plot, ALegendOfSevenNeverMeetsItself) {
  Chart chart = two_lines();
  chart.series.clear();
  for (const char* name : {"fifo", "fifo-easy", "sjf", "srtf", "las", "tiresias", "fitgpp+xion"})
    chart.series.push_back({name, {{1, 0}, {60, 1}}, chart.series.size()});
  const std::string svg = to_svg(chart);
  const std::regex entry(R"re(h26"/><text x="([0-9.]+)" y="([0-9.]+)">([^<]*)<)re");
  double end = 0, row = 0;
  for (std::sregex_iterator at(svg.begin(), svg.end(), entry), none; at != none; ++at) {
    const double x = std::stod((*at)[1]), y = std::stod((*at)[2]);
    if (y == row) {
      EXPECT_GE(x - 32, end) << (*at)[3];
    }
    // A wide font at 12 px has characters of about 7 px.
    end = x + 7 * static_cast<double>((*at)[3].length()), row = y;
    EXPECT_LE(end, chart.width) << (*at)[3];
  }
  EXPECT_GT(row, 0);
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
  EXPECT_NE(svg.find(">2 h<"), std::string::npos);
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
