#include "perf/fit.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/random.h"

namespace trainyard {
namespace {

/// What a made-up system would measure: all placements of up to 3 machines of up to 4 GPUs.
Measurements made_up(const SpeedFit& truth, double noise, std::uint64_t seed) {
  Measurements measurements{"made-up", "system", {}};
  Random random(seed);
  for (int a = 1; a <= 4; ++a)
    for (int b = 0; b <= a; ++b)
      for (int c = 0; c <= b; ++c)
        for (const auto& [batch, compute_s] : truth.compute_s) {
          MeasuredIteration i;
          i.gpus = {a};
          if (b > 0) i.gpus.push_back(b);
          if (c > 0) i.gpus.push_back(c);
          i.batch = batch;
          for (const int gpus : i.gpus) i.unit += std::to_string(gpus);
          const auto exact = truth.predict(i);
          const double factor = 1 + noise * (2 * random.uniform() - 1);
          i.step_s = exact.step_s * factor, i.sync_s = exact.sync_s * factor;
          measurements.iterations.push_back(i);
        }
  return measurements;
}

SpeedFit truth_with(Collective collective) {
  SpeedFit truth;
  truth.model.gradient_bytes.value = 100e6;
  truth.model.collective = collective;
  truth.model.overlap.value = 0.4;
  truth.tiers[kMachineTier].gbps = 40, truth.tiers[kMachineTier].latency_us = 2000;
  truth.tiers[kRackTier].gbps = 10, truth.tiers[kRackTier].latency_us = 5000;
  truth.compute_s = {{16, 0.05}, {32, 0.09}, {64, 0.17}};
  truth.sync_alone_s = 0.001;
  return truth;
}

TEST(Fit, FindsTheParametersOfAMadeUpSystem) {
  for (const Collective collective : {Collective::ring, Collective::hierarchical}) {
    const SpeedFit truth = truth_with(collective);
    const FitReport report = fit_speed(made_up(truth, 0, 1), 100e6);
    EXPECT_EQ(report.fit.model.collective, collective);
    EXPECT_NEAR(report.fit.model.overlap.value, 0.4, 0.02);
    EXPECT_NEAR(report.fit.tiers[kRackTier].gbps, 10, 1);
    EXPECT_NEAR(report.fit.sync_alone_s, 0.001, 1e-9);
    EXPECT_LT(errors_of(report.errors.step).p90, 0.01);
    EXPECT_LT(errors_of(report.errors.sync).p90, 0.05);
  }
}

TEST(Fit, NoiseIsNotLearnt) {
  const Measurements noisy = made_up(truth_with(Collective::ring), 0.1, 2);
  const Errors errors = errors_of(fit_speed(noisy, 100e6).errors.step);
  EXPECT_GT(errors.count, 30U);
  EXPECT_LT(errors.median, 0.1);
  EXPECT_GT(errors.median, 0.01) << "seed 2";
}

TEST(Fit, HoldsOutEverySecondPlacementAndLearnsFromTheRest) {
  Measurements measurements = made_up(truth_with(Collective::ring), 0, 1);
  const FitReport report = fit_speed(measurements, 100e6);
  const std::size_t held_out = report.errors.step.size();
  EXPECT_EQ(held_out + report.trained, measurements.iterations.size());
  EXPECT_NEAR(static_cast<double>(held_out), static_cast<double>(report.trained), 6.0);
  for (MeasuredIteration& i : measurements.iterations)
    if (i.unit == "2") i.step_s *= 3;  // the second placement
  const FitReport changed = fit_speed(measurements, 100e6);
  EXPECT_EQ(changed.fit.tiers[kRackTier].gbps, report.fit.tiers[kRackTier].gbps)
      << "what is held out must not be seen";
  EXPECT_GT(*std::ranges::max_element(changed.errors.step), 0.5);
}

TEST(Fit, RepeatsAreTheSameShapeInAnotherOrder) {
  Measurements measurements{"m", "s", {}};
  for (const auto& [gpus, step] :
       std::vector<std::pair<std::vector<int>, double>>{{{1, 3}, 1.0}, {{3, 1}, 1.5}, {{2, 2}, 9}})
    measurements.iterations.push_back({gpus, 8, step, step / 2, "", false});
  const Repeats repeats = repeat_differences(measurements);
  ASSERT_EQ(repeats.step.size(), 2U);
  EXPECT_DOUBLE_EQ(repeats.step[0] + repeats.step[1], 0.5 + 1.0 / 3);
}

/// The traces are not part of the project.
const std::string kTraces = "../shared/traces";

TEST(Fit, StepsThatSiaMeasuredWithinATenth) {
  if (!std::filesystem::exists(kTraces + "/sia")) GTEST_SKIP() << kTraces << "/sia is not there";
  const auto all = read_sia(kTraces + "/sia");
  ASSERT_TRUE(all) << all.error().message;
  std::map<std::string, HeldOut> by_model;
  for (const Measurements& measurements : *all)
    by_model[measurements.model].add(fit_speed(measurements, 100e6).errors);
  EXPECT_EQ(by_model.size(), 7U);
  for (const auto& [model, errors] : by_model) {
    EXPECT_GE(errors.step.size(), 30U) << model;
    EXPECT_LE(errors_of(errors.step).median, 0.10) << model;
  }
}

TEST(Fit, GavelsUnconsolidatedRowsWithinATenth) {
  const std::string file = kTraces + "/gavel/simulation_throughputs.json";
  if (!std::filesystem::exists(file)) GTEST_SKIP() << file << " is not there";
  const auto all = read_gavel(file);
  ASSERT_TRUE(all) << all.error().message;
  HeldOut errors;
  for (const Measurements& measurements : *all) errors.add(fit_speed(measurements, 100e6).errors);
  EXPECT_GE(errors.spread.size(), 60U);
  EXPECT_LE(errors_of(errors.spread).median, 0.10);
}

}  // namespace
}  // namespace trainyard
