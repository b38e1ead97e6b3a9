#include "sim/utilization.h"

#include <gtest/gtest.h>

#include <numeric>

#include "base/random.h"

namespace trainyard {
namespace {

/// The GPU time of the series: every interval is whole but the last.
double integral(const UtilizationSeries& series, Time end, std::int64_t gpus) {
  double sum = 0;
  Time begin;
  for (const double share : series.share) {
    const Time next = std::min(end, begin + series.interval);
    sum += share * static_cast<double>(gpus) * static_cast<double>((next - begin).us);
    begin = next;
  }
  return sum;
}

TEST(Utilization, SharesOfWholeAndPartIntervals) {
  UtilizationRecorder recorder;
  recorder.add(Time{}, Time{} + seconds(2), 4);
  recorder.add(Time{} + seconds(2), Time{} + microseconds(2'500'000), 8);
  const UtilizationSeries series = recorder.series(8);
  EXPECT_EQ(series.interval, seconds(1));
  EXPECT_EQ(series.share, (std::vector<double>{0.5, 0.5, 1.0})) << "the last is half as long";
  EXPECT_EQ(recorder.gpu_us(), 12e6);
}

TEST(Utilization, NoTimeIsNothing) {
  UtilizationRecorder recorder;
  recorder.add(Time{5}, Time{5}, 4);
  EXPECT_TRUE(recorder.series(8).share.empty());
  EXPECT_EQ(recorder.gpu_us(), 0);
}

TEST(Utilization, MergingKeepsTheIntegral) {
  Random random(23);
  UtilizationRecorder recorder;
  Time now;
  double expected = 0;
  for (int step = 0; step < 3000; ++step) {
    const auto length = static_cast<std::int64_t>(random.exponential(3e6 * (1 + step / 100)));
    const auto held = static_cast<std::int64_t>(random.below(65));
    recorder.add(now, now + microseconds(length), held);
    now = now + microseconds(length);
    expected += static_cast<double>(held) * static_cast<double>(length);
    ASSERT_NEAR(recorder.gpu_us() / std::max(expected, 1.0), 1, 1e-9) << "seed 23, " << step;
  }
  const UtilizationSeries series = recorder.series(64);
  EXPECT_LE(series.share.size(), 512U);
  EXPECT_GT(series.share.size(), 256U) << "no coarser than it must be";
  EXPECT_NEAR(integral(series, now, 64) / expected, 1, 1e-9);
  for (const double share : series.share) EXPECT_LE(share, 1 + 1e-9);
}

TEST(Utilization, ReachesToTheEndOfTime) {
  UtilizationRecorder recorder;
  const Time last{Time::never().us - 1};
  recorder.add(Time{}, last, 3);
  const UtilizationSeries series = recorder.series(4);
  EXPECT_LE(series.share.size(), 512U);
  EXPECT_NEAR(series.share.back(), 0.75, 1e-9);
}

}  // namespace
}  // namespace trainyard
