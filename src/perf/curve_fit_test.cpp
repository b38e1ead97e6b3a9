#include "perf/curve_fit.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/random.h"

namespace trainyard {
namespace {

constexpr double kSteps = 1000;  // of the whole run
constexpr int kReports = 100;    // one for each 1% of it

struct Noise {
  double deviation = 0;  // relative
  double outliers = 0;   // the share of points that are anything from 0 to 1
};

/// What the job has told after so many reports.
CurvePoints reports(const LearningCurve& truth, int count, const Noise& noise, std::uint64_t seed) {
  Random random(seed);
  CurvePoints told;
  for (int i = 1; i <= count; ++i) {
    const double share = static_cast<double>(i) / kReports;
    double accuracy = truth.at(share) * random.normal(1, noise.deviation);
    if (random.uniform() < noise.outliers) accuracy = random.uniform();
    told.add({share * kSteps, accuracy});
  }
  return told;
}

struct FitError {
  double accuracy = 0, gain = 0;
};

/// Of the accuracy now, and of what the next 2% of the run bring of the limit; the mean over seeds.
FitError mean_error(const LearningCurve& truth, int count, const Noise& noise) {
  constexpr std::uint64_t kSeeds = 200;
  FitError mean;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const auto fit = fit_curve(reports(truth, count, noise, seed));
    if (!fit) return {1, 1};
    const double now = static_cast<double>(count) / kReports, next = now + 0.02;
    const double here = fit->at(now * kSteps), there = fit->at(next * kSteps);
    mean.accuracy += std::abs(here - truth.at(now)) / kSeeds;
    mean.gain +=
        std::abs((there - here) / fit->limit - (truth.at(next) - truth.at(now)) / truth.limit()) /
        kSeeds;
  }
  return mean;
}

double true_gain(const LearningCurve& truth, int count) {
  const double now = static_cast<double>(count) / kReports;
  return (truth.at(now + 0.02) - truth.at(now)) / truth.limit();
}

TEST(CurveFit, FindsTheCurveThatPointsLieOn) {
  for (const double to_95 : {0.05, 0.1, 0.3, 0.6})
    for (const int count : {3, 4, 10, 47, 100}) {
      const LearningCurve truth = *make_learning_curve(0.9, 0.05, to_95);
      const auto fit = fit_curve(reports(truth, count, {}, 1));
      ASSERT_TRUE(fit);
      for (const double share : {0.01, 0.02, 0.03})
        EXPECT_NEAR(fit->at(share * kSteps), truth.at(share), 0.002) << to_95 << ", " << count;
      EXPECT_NEAR(fit->limit, 0.9, count < 10 ? 0.05 : 0.01) << to_95 << ", " << count;
    }
}

/// Seeds 1 to 200. The noise of one report is 5% of its accuracy, some 0.03 to 0.04.
TEST(CurveFit, IsCloserThanOneReportAtFivePercentOfNoise) {
  for (const double to_95 : {0.1, 0.3}) {
    const LearningCurve truth = *make_learning_curve(0.9, 0.05, to_95);
    for (const auto& [count, accuracy, gain] : {std::tuple{5, 0.025, 0.4},
                                                {10, 0.02, 0.4},
                                                {20, 0.015, 0.35},
                                                {40, 0.01, 0.3},
                                                {100, 0.01, 0.3}}) {
      const FitError error = mean_error(truth, count, {.deviation = 0.05});
      EXPECT_LT(error.accuracy, accuracy) << to_95 << ", " << count;
      EXPECT_LT(error.gain, gain * true_gain(truth, count)) << to_95 << ", " << count;
    }
  }
}

TEST(CurveFit, OutliersAreOutvoted) {
  for (const double to_95 : {0.1, 0.3}) {
    const LearningCurve truth = *make_learning_curve(0.9, 0.05, to_95);
    for (const auto& [count, accuracy] :
         {std::pair{10, 0.04}, {20, 0.02}, {40, 0.015}, {100, 0.015}})
      EXPECT_LT(mean_error(truth, count, {0.05, 0.1}).accuracy, accuracy) << to_95 << ", " << count;
  }
}

TEST(CurveFit, FewerThanThreePointsSayNothing) {
  CurvePoints told;
  EXPECT_FALSE(fit_curve(told));
  told.add({1, 0.1});
  told.add({2, 0.2});
  EXPECT_FALSE(fit_curve(told));
  told.add({2, 0.3});  // the same step again
  EXPECT_FALSE(fit_curve(told));
  told.add({3, 0.3});
  EXPECT_TRUE(fit_curve(told));
}

TEST(CurveFit, WhatDoesNotRiseIsLevel) {
  CurvePoints level, falling;
  for (int i = 1; i <= 20; ++i) {
    level.add({i * 10.0, 0.5});
    falling.add({i * 10.0, 0.9 - 0.02 * i});
  }
  EXPECT_NEAR(fit_curve(level)->at(200), 0.5, 1e-6);
  EXPECT_NEAR(fit_curve(level)->at(400), 0.5, 1e-6);
  const Hyperbola fit = *fit_curve(falling);
  EXPECT_NEAR(fit.at(400), fit.at(200), 1e-6);
}

TEST(CurveFit, SharesTendToOneAtMost) {
  CurvePoints shares, percent;
  for (int i = 1; i <= 8; ++i) {
    shares.add({i * 1.0, 0.1 * i});
    percent.add({i * 1.0, 10.0 * i});
  }
  EXPECT_LE(fit_curve(shares)->limit, 1);
  EXPECT_GT(fit_curve(percent)->limit, 80);
}

TEST(CurveFit, IsFiniteWhateverWasTold) {
  for (std::uint64_t seed = 1; seed <= 2000; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    CurvePoints told;
    const double scale = std::pow(10, random.uniform(-90, 90));
    for (std::uint64_t n = random.below(200); n > 0; --n) {
      const double step = random.below(3) == 0 ? static_cast<double>(random.below(9))
                                               : random.uniform(0, 1) * scale;
      const double accuracy = random.below(4) == 0 ? random.uniform(-1, 1) * scale
                                                   : static_cast<double>(random.below(3));
      told.add({step, accuracy});
    }
    const auto fit = fit_curve(told);
    if (!fit) continue;
    EXPECT_TRUE(std::isfinite(fit->limit)) << fit->limit;
    EXPECT_TRUE(std::isfinite(fit->slope) && fit->slope >= 0) << fit->slope;
    EXPECT_TRUE(std::isfinite(fit->offset) && fit->offset > 0) << fit->offset;
    for (const double x : {0.0, 1.0, told.last_step(), 2 * told.last_step()})
      EXPECT_TRUE(std::isfinite(fit->at(x))) << x;
  }
}

TEST(CurvePoints, AreBoundedAndGetSparserWithTheSteps) {
  CurvePoints told;
  for (int step = 1; step <= 100'000; ++step) told.add({step * 1.0, 0.5});
  ASSERT_EQ(told.size(), CurvePoints::kMost);
  EXPECT_EQ(told.points().front().step, 1);
  EXPECT_EQ(told.last_step(), 100'000);
  for (std::size_t i = 2; i + 1 < told.size(); ++i)
    EXPECT_LT(told.points()[i].step, 2.5 * told.points()[i - 1].step) << i;
}

TEST(CurvePoints, StepsDoneAgainReplaceWhatTheySaid) {
  CurvePoints told;
  for (int step = 1; step <= 10; ++step) told.add({step * 1.0, 0.1 * step});
  told.add({4, 0.2});
  ASSERT_EQ(told.size(), 4U);
  EXPECT_EQ(told.points().back().accuracy, 0.2);
}

}  // namespace
}  // namespace trainyard
