#include "study/report/axis.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "base/random.h"

namespace trainyard {
namespace {

std::string labels(const std::vector<Tick>& ticks) {
  std::string text;
  for (const Tick& tick : ticks) text += (text.empty() ? "" : " | ") + tick.label;
  return text;
}

TEST(LinearTicks, RoundNumbers) {
  EXPECT_EQ(labels(linear_ticks(0, 10, 6, Unit::number)), "0 | 2 | 4 | 6 | 8 | 10");
  EXPECT_EQ(labels(linear_ticks(0, 1, 5, Unit::share)), "0% | 25% | 50% | 75% | 100%");
  EXPECT_EQ(labels(linear_ticks(0.3, 1.7, 5, Unit::number)), "0 | 0.5 | 1 | 1.5 | 2");
  EXPECT_EQ(labels(linear_ticks(-3, 3, 5, Unit::number)), "-4 | -2 | 0 | 2 | 4");
  EXPECT_EQ(labels(linear_ticks(0, 60'000, 4, Unit::number)), "0 | 20k | 40k | 60k");
}

TEST(LinearTicks, TimesInOneUnit) {
  EXPECT_EQ(labels(linear_ticks(0, 100, 5, Unit::seconds)), "0 | 30 s | 60 s | 90 s | 120 s");
  EXPECT_EQ(labels(linear_ticks(0, 3600, 5, Unit::seconds)),
            "0 | 15 min | 30 min | 45 min | 60 min");
  EXPECT_EQ(labels(linear_ticks(0, 2 * 86'400, 5, Unit::seconds)), "0 | 12 h | 24 h | 36 h | 48 h");
  EXPECT_EQ(labels(linear_ticks(0, 9.5 * 86'400, 6, Unit::seconds)),
            "0 | 2 d | 4 d | 6 d | 8 d | 10 d");
  EXPECT_EQ(labels(linear_ticks(0, 0.01, 3, Unit::seconds)), "0 | 5 ms | 10 ms");
}

TEST(LogTicks, PowersOfTen) {
  EXPECT_EQ(labels(log_ticks(1, 1000, 0.1, Unit::number)), "1 | 10 | 100 | 1000");
  EXPECT_EQ(labels(log_ticks(1, 1e6, 0.2, Unit::number)), "1 | 100 | 10k | 1M");
}

TEST(LogTicks, ANarrowRangeGetsMore) {
  EXPECT_EQ(labels(log_ticks(1, 20, 0.1, Unit::number)), "1 | 2 | 5 | 10 | 20");
  EXPECT_EQ(labels(log_ticks(1, 1.31, 0.1, Unit::number)), "1 | 1.1 | 1.2 | 1.3 | 1.4");
}

TEST(LogTicks, TimesPeopleThinkIn) {
  EXPECT_EQ(labels(log_ticks(1, 10 * 86'400, 0.1, Unit::seconds)),
            "1 s | 10 s | 1 min | 10 min | 1 h | 1 d | 10 d");
  EXPECT_EQ(labels(log_ticks(3600, 2 * 86'400, 0.1, Unit::seconds)),
            "1 h | 2 h | 6 h | 12 h | 1 d | 2 d");
}

TEST(LogTicks, BothEndsHaveOneAlsoWhereNothingWellKnownIsNear) {
  EXPECT_EQ(labels(log_ticks(7, 3100, 0.1, Unit::number)), "5 | 10 | 100 | 1000 | 5000");
  EXPECT_EQ(labels(log_ticks(40, 26 * 86'400, 0.1, Unit::seconds)),
            "30 s | 10 min | 1 h | 1 d | 10 d | 50 d");
}

TEST(Ticks, ReachFromEndToEndInOrderAndApart) {
  const std::uint64_t seed = 20'240'501;
  SCOPED_TRACE(seed);
  Random random(seed);
  for (int i = 0; i < 2000; ++i) {
    const double low = std::pow(10, random.uniform(-4, 6));
    const double high = low * std::pow(10, random.uniform(0.05, 7));
    const double gap = random.uniform(0.05, 0.3);
    const Unit unit = std::array{Unit::number, Unit::share, Unit::seconds}[random.below(3)];
    const auto logarithmic = log_ticks(low, high, gap, unit);
    const auto linear = linear_ticks(low, high, 6, unit);
    EXPECT_LE(linear.size(), 6U);
    EXPECT_GT(logarithmic.front().at, 0);
    EXPECT_GE(logarithmic.front().at, std::min(low / 3, low - (high - low)) * (1 - 1e-6))
        << "no further than it must: " << low << " " << high;
    const double length = std::log(logarithmic.back().at / logarithmic.front().at);
    for (std::size_t t = 1; t < logarithmic.size(); ++t)
      EXPECT_GE(std::log(logarithmic[t].at / logarithmic[t - 1].at) / length, 0.8 * gap)
          << low << " " << high << " " << gap;
    for (const auto& ticks : {logarithmic, linear}) {
      EXPECT_LE(ticks.front().at, low * (1 + 1e-6));
      EXPECT_GE(ticks.back().at, high * (1 - 1e-6));
      for (std::size_t t = 1; t < ticks.size(); ++t) {
        EXPECT_GT(ticks[t].at, ticks[t - 1].at);
        EXPECT_NE(ticks[t].label, ticks[t - 1].label) << low << " " << high;
      }
    }
  }
}

TEST(Projection, Linear) {
  const Projection x(Scale::linear, 0, 10, 100, 200, false);
  EXPECT_DOUBLE_EQ(x(0), 100);
  EXPECT_DOUBLE_EQ(x(2.5), 125);
  EXPECT_DOUBLE_EQ(x(11), 200) << "beyond the end falls onto it";
}

TEST(Projection, Logarithmic) {
  const Projection x(Scale::log, 1, 100, 0, 100, false);
  EXPECT_DOUBLE_EQ(x(1), 0);
  EXPECT_DOUBLE_EQ(x(10), 50);
  EXPECT_DOUBLE_EQ(x(100), 100);
  EXPECT_DOUBLE_EQ(x(0), 0);
  EXPECT_FALSE(x.has_zero_strip());
}

TEST(Projection, ZerosStandBeforeTheSmallestValue) {
  const Projection x(Scale::log, 1, 100, 0, 100, true);
  EXPECT_TRUE(x.has_zero_strip());
  EXPECT_DOUBLE_EQ(x(0), 0);
  EXPECT_DOUBLE_EQ(x(1), x.from_px());
  EXPECT_GT(x(1), x(0));
  EXPECT_DOUBLE_EQ(x(100), 100);
}

TEST(Projection, UpwardsAsOnPaper) {
  const Projection y(Scale::linear, 0, 1, 300, 50, false);
  EXPECT_DOUBLE_EQ(y(0), 300);
  EXPECT_DOUBLE_EQ(y(1), 50);
}

}  // namespace
}  // namespace trainyard
