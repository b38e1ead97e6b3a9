// Every statistic against its definition, written down the slow way.
#include "base/stats.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "base/random.h"

namespace trainyard {
namespace {

/// The smallest value that at least a share `percent` of all values do not exceed.
double percentile_by_counting(const std::vector<double>& values, std::size_t percent) {
  double best = std::numeric_limits<double>::infinity();
  for (const double candidate : values) {
    const auto at_most = static_cast<std::size_t>(
        std::count_if(values.begin(), values.end(), [&](double v) { return v <= candidate; }));
    if (at_most * 100 >= percent * values.size()) best = std::min(best, candidate);
  }
  return best;
}

std::vector<double> some_values() {
  const auto whole =
      *rc::gen::nonEmpty(rc::gen::container<std::vector<int>>(rc::gen::inRange(-50, 50)));
  return {whole.begin(), whole.end()};
}

RC_GTEST_PROP(Percentile, IsTheNearestRank, ()) {
  const auto values = some_values();
  const auto percent = *rc::gen::inRange<std::size_t>(1, 101);
  auto reordered = values;
  RC_ASSERT(percentile(reordered, static_cast<double>(percent) / 100) ==
            percentile_by_counting(values, percent));
}

RC_GTEST_PROP(Summarize, AgreesWithCounting, ()) {
  const auto values = some_values();
  auto reordered = values;
  const Summary s = summarize(reordered);
  RC_ASSERT(s.p50 == percentile_by_counting(values, 50));
  RC_ASSERT(s.p95 == percentile_by_counting(values, 95));
  RC_ASSERT(s.p99 == percentile_by_counting(values, 99));
  RC_ASSERT(s.max == *std::max_element(values.begin(), values.end()));
  double sum = 0;
  for (const double v : values) sum += v;
  RC_ASSERT(std::abs(s.mean - sum / static_cast<double>(values.size())) < 1e-9);
}

TEST(Summarize, OfOneToAHundred) {
  std::vector<double> values;
  for (int i = 100; i >= 1; --i) values.push_back(i);
  const Summary s = summarize(values);
  EXPECT_DOUBLE_EQ(s.mean, 50.5);
  EXPECT_EQ(s.p50, 50);
  EXPECT_EQ(s.p95, 95);
  EXPECT_EQ(s.p99, 99);
  EXPECT_EQ(s.max, 100);
}

TEST(Summarize, OfNothingIsZero) {
  const Summary s = summarize({});
  EXPECT_EQ(s.mean, 0);
  EXPECT_EQ(s.max, 0);
}

// 1..5: mean 3, standard error sqrt(2.5 / 5), t(4) = 2.776.
TEST(MeanInterval, UsesStudentsT) {
  const Interval interval = mean_interval(std::vector<double>{1, 2, 3, 4, 5});
  EXPECT_DOUBLE_EQ(interval.mean, 3);
  EXPECT_NEAR(interval.half_width, 2.776 * std::sqrt(0.5), 1e-9);
}

TEST(MeanInterval, NeedsTwoValuesForAWidth) {
  EXPECT_EQ(mean_interval({}).mean, 0);
  EXPECT_EQ(mean_interval(std::vector<double>{7}).mean, 7);
  EXPECT_EQ(mean_interval(std::vector<double>{7}).half_width, 0);
  EXPECT_EQ(mean_interval(std::vector<double>(8, 0.28173)).mean, 0.28173);
  EXPECT_EQ(mean_interval(std::vector<double>(8, 0.28173)).half_width, 0);
}

// t(31) = 2.0395 and t(60) = 2.0003 (tables): beyond the built-in ones the series takes over.
TEST(MeanInterval, IsRightForManyValues) {
  for (const auto& [count, t] : {std::pair{31, 2.0423}, {32, 2.0395}, {61, 2.0003}}) {
    std::vector<double> values;
    double squares = 0;
    for (int i = 0; i < count; ++i) values.push_back(i);
    for (const double v : values) squares += std::pow(v - (count - 1) / 2.0, 2);
    const double error = std::sqrt(squares / (count - 1) / count);
    EXPECT_NEAR(mean_interval(values).half_width / error, t, 0.001) << count;
  }
}

TEST(MeanInterval, CoversTheTruthNineteenTimesInTwenty) {
  Random random(1);
  constexpr int kTrials = 4000;
  int covered = 0;
  for (int trial = 0; trial < kTrials; ++trial) {
    std::vector<double> values(4);
    for (double& v : values) v = random.normal(10, 2);
    const Interval interval = mean_interval(values);
    covered += std::abs(interval.mean - 10) <= interval.half_width ? 1 : 0;
  }
  EXPECT_NEAR(static_cast<double>(covered) / kTrials, 0.95, 0.015);
}

TEST(JainIndex, RunsFromOneOverNToOne) {
  EXPECT_DOUBLE_EQ(jain_index(std::vector<double>{2, 2, 2, 2}), 1);
  EXPECT_DOUBLE_EQ(jain_index(std::vector<double>{0, 0, 0, 5}), 0.25);
  EXPECT_DOUBLE_EQ(jain_index(std::vector<double>{1, 2, 3}), 36.0 / 42);
  EXPECT_DOUBLE_EQ(jain_index({}), 1);
  EXPECT_DOUBLE_EQ(jain_index(std::vector<double>{0, 0}), 1);
}

double share_at_most(const std::vector<double>& values, double x) {
  return static_cast<double>(
             std::count_if(values.begin(), values.end(), [&](double v) { return v <= x; })) /
         static_cast<double>(values.size());
}

RC_GTEST_PROP(KsDistance, IsTheLargestGapAtAnyValue, ()) {
  const auto a = some_values(), b = some_values();
  double expected = 0;
  for (const auto* values : {&a, &b})
    for (const double x : *values)
      expected = std::max(expected, std::abs(share_at_most(a, x) - share_at_most(b, x)));
  auto a_sorted = a, b_sorted = b;
  RC_ASSERT(std::abs(ks_distance(a_sorted, b_sorted) - expected) < 1e-12);
}

TEST(KsDistance, Extremes) {
  std::vector<double> low{1, 2, 3}, high{4, 5}, same{3, 2, 1}, none;
  EXPECT_DOUBLE_EQ(ks_distance(low, high), 1);
  EXPECT_DOUBLE_EQ(ks_distance(low, same), 0);
  EXPECT_DOUBLE_EQ(ks_distance(low, none), 1);
  EXPECT_DOUBLE_EQ(ks_distance(none, none), 0);
}

TEST(Histogram, IsEmptyAtFirst) {
  const Histogram histogram;
  EXPECT_EQ(histogram.count(), 0U);
  EXPECT_EQ(histogram.max(), 0U);
  EXPECT_EQ(histogram.percentile(0.5), 0);
}

TEST(Histogram, IsExactForSmallValues) {
  for (std::uint64_t value = 0; value < 64; ++value) {
    Histogram histogram;
    histogram.add(value);
    histogram.add(1'000'000);
    EXPECT_EQ(histogram.percentile(0.5), static_cast<double>(value));
  }
}

TEST(Histogram, TakesTheLargestValueThereIs) {
  constexpr auto kLargest = std::numeric_limits<std::uint64_t>::max();
  Histogram histogram;
  histogram.add(kLargest);
  EXPECT_EQ(histogram.max(), kLargest);
  EXPECT_EQ(histogram.percentile(0.99), static_cast<double>(kLargest));
}

RC_GTEST_PROP(Histogram, IsWithinABucketOfTheExactPercentile, ()) {
  const auto bits = *rc::gen::inRange(1, 60);
  const auto values = *rc::gen::nonEmpty(rc::gen::container<std::vector<std::uint64_t>>(
      rc::gen::inRange<std::uint64_t>(0, 1ULL << bits)));
  Histogram histogram;
  for (const auto v : values) histogram.add(v);
  RC_ASSERT(histogram.count() == values.size());
  RC_ASSERT(histogram.max() == *std::max_element(values.begin(), values.end()));
  for (const double q : {0.01, 0.5, 0.95, 0.99, 1.0}) {
    std::vector<double> exact(values.begin(), values.end());
    const double truth = percentile(exact, q), found = histogram.percentile(q);
    RC_ASSERT(found >= truth && found <= truth * (1 + 1.0 / 32));
  }
}

}  // namespace
}  // namespace trainyard
