#include "study/report/utilization.h"

#include <gtest/gtest.h>

namespace trainyard {
namespace {

PolicyRuns runs(std::vector<UtilizationSeries> all) {
  PolicyRuns policy{"fifo", {}};
  for (UtilizationSeries& series : all) {
    policy.runs.emplace_back();
    policy.runs.back().result.utilization = std::move(series);
  }
  return policy;
}

TEST(Utilization, TheEndIsThatOfTheLongestRun) {
  EXPECT_EQ(end_of(runs({{seconds(10), {1, 1}}, {seconds(5), {1, 1, 1}}})), seconds(20));
  EXPECT_EQ(end_of(runs({})), seconds(0));
}

TEST(Utilization, FinerThanTheCellsIsAveraged) {
  const auto mean = mean_utilization(runs({{seconds(1), {0, 1, 0.5, 0.5}}}), seconds(4), 2);
  EXPECT_EQ(mean, (std::vector<double>{0.5, 0.5}));
}

TEST(Utilization, CoarserThanTheCellsIsRepeated) {
  const auto mean = mean_utilization(runs({{seconds(2), {0.25, 1}}}), seconds(4), 4);
  EXPECT_EQ(mean, (std::vector<double>{0.25, 0.25, 1, 1}));
}

TEST(Utilization, IntervalsThatCrossACellAreSplit) {
  // Cells of 3 s over intervals of 2 s: (2 x 1 + 1 x 0) / 3, (1 x 0 + 2 x 0.6) / 3.
  const auto mean = mean_utilization(runs({{seconds(2), {1, 0, 0.6}}}), seconds(6), 2);
  EXPECT_NEAR(mean[0], 2.0 / 3, 1e-12);
  EXPECT_NEAR(mean[1], 0.4, 1e-12);
}

TEST(Utilization, ARunThatEndedCountsAsZero) {
  const auto mean =
      mean_utilization(runs({{seconds(1), {1, 1}}, {seconds(1), {1}}, {}}), seconds(2), 2);
  EXPECT_NEAR(mean[0], 2.0 / 3, 1e-12);
  EXPECT_NEAR(mean[1], 1.0 / 3, 1e-12);
}

}  // namespace
}  // namespace trainyard
