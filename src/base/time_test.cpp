#include "base/time.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <limits>

namespace trainyard {
namespace {

TEST(Time, ArithmeticIsExact) {
  EXPECT_EQ(minutes(90), hours(1) + minutes(30));
  EXPECT_EQ(days(1) - hours(24), Duration{});
  EXPECT_EQ(Time{5} + microseconds(3) - Time{1}, microseconds(7));
  EXPECT_EQ(hours(5) / hours(2), 2);
  EXPECT_EQ(hours(5) % hours(2), hours(1));
  EXPECT_EQ(seconds(3) * 4, seconds(12));
  EXPECT_DOUBLE_EQ(minutes(1).seconds(), 60);
  EXPECT_LT(Time{} + kLongestDuration + kLongestDuration, Time::never());
}

TEST(DurationFromSeconds, RoundsToTheNearestMicrosecond) {
  EXPECT_EQ(duration_from_seconds(0), Duration{});
  EXPECT_EQ(duration_from_seconds(1.5), microseconds(1'500'000));
  EXPECT_EQ(duration_from_seconds(0.0000014), microseconds(1));
  EXPECT_EQ(duration_from_seconds(0.0000016), microseconds(2));
  EXPECT_EQ(duration_from_seconds(kLongestDuration.seconds()), kLongestDuration);
}

TEST(DurationFromSeconds, RefusesWhatIsNoDuration) {
  for (const double s : {-1e-9, -1.0, 1e300, std::numeric_limits<double>::infinity(),
                         std::numeric_limits<double>::quiet_NaN()})
    EXPECT_FALSE(duration_from_seconds(s)) << s;
  EXPECT_EQ(duration_from_seconds(-2).error().message,
            "-2 s is not a duration; it must lie between 0 and 315360000000 s");
}

TEST(ParseDuration, ReadsSecondsAndUnits) {
  EXPECT_EQ(parse_duration("0"), Duration{});
  EXPECT_EQ(parse_duration("90"), seconds(90));
  EXPECT_EQ(parse_duration("0.5"), microseconds(500'000));
  EXPECT_EQ(parse_duration("1e3"), seconds(1000));
  EXPECT_EQ(parse_duration("1.5h"), minutes(90));
  EXPECT_EQ(parse_duration("2d12h"), hours(60));
  EXPECT_EQ(parse_duration("1h30m"), minutes(90));
  EXPECT_EQ(parse_duration("1m30"), seconds(90));
  EXPECT_EQ(parse_duration("250ms"), microseconds(250'000));
  EXPECT_EQ(parse_duration("7us"), microseconds(7));
  EXPECT_EQ(parse_duration("2w"), days(14));
  EXPECT_EQ(parse_duration("3650000d"), kLongestDuration);
}

TEST(ParseDuration, RefusesWhatIsNoDurationAndSaysWhatWouldBe) {
  for (const char* text : {"", "h", "1x", "1h ", " 1h", "1h,30m", "one", "nan", "inf", "1 h", "1H",
                           "0x10", "1hour", "--1", "1e999"})
    EXPECT_FALSE(parse_duration(text)) << text;
  EXPECT_EQ(parse_duration("3 days").error().message,
            "'3 days' is not a duration; write seconds or units, as in 90, 1.5h, 2d12h, 250ms");
  EXPECT_EQ(parse_duration("-5m").error().message, "'-5m' is negative; a duration is 0 or more");
  EXPECT_EQ(parse_duration("3650001d").error().message, "'3650001d' is longer than 10,000 years");
}

TEST(FormatDuration, ShowsTwoUnitsAtMost) {
  EXPECT_EQ(format(Duration{}), "0s");
  EXPECT_EQ(format(microseconds(999)), "999us");
  EXPECT_EQ(format(microseconds(1'234)), "1.23ms");
  EXPECT_EQ(format(microseconds(250'000)), "250ms");
  EXPECT_EQ(format(microseconds(999'999)), "1s");
  EXPECT_EQ(format(microseconds(1'500'000)), "1.5s");
  EXPECT_EQ(format(seconds(90)), "1m 30s");
  EXPECT_EQ(format(minutes(60)), "1h");
  EXPECT_EQ(format(minutes(61) + seconds(59)), "1h 1m");
  EXPECT_EQ(format(hours(52)), "2d 4h");
  EXPECT_EQ(format(days(400)), "400d");
  EXPECT_EQ(format(Duration{} - seconds(90)), "-1m 30s");
}

TEST(FormatDuration, ExactFormIsShort) {
  EXPECT_EQ(format_exact(Duration{}), "0s");
  EXPECT_EQ(format_exact(hours(60)), "2d12h");
  EXPECT_EQ(format_exact(seconds(90)), "1m30s");
  EXPECT_EQ(format_exact(microseconds(250'000)), "250000us");
}

RC_GTEST_PROP(FormatDuration, ExactFormOfSecondsReadsBack, ()) {
  const auto limit = kLongestDuration.us / 1'000'000;
  const Duration d = seconds(*rc::gen::inRange<std::int64_t>(0, limit + 1));
  RC_ASSERT(parse_duration(format_exact(d)) == d);
}

RC_GTEST_PROP(FormatDuration, ExactFormOfMicrosecondsReadsBack, ()) {
  const Duration d{*rc::gen::inRange<std::int64_t>(0, days(36'500).us)};
  RC_ASSERT(parse_duration(format_exact(d)) == d);
}

RC_GTEST_PROP(ParseDuration, TakesAnyBytesAndNeverLeavesTheRange, (const std::string& text)) {
  if (const auto d = parse_duration(text)) RC_ASSERT(d->us >= 0 && *d <= kLongestDuration);
}

TEST(Time, SumsAndProductsStopAtTheEndOfTime) {
  EXPECT_EQ(Time{5} + Duration::max(), Time::never());
  EXPECT_EQ(Time::never() + seconds(1), Time::never());
  EXPECT_EQ(kLongestDuration * 1'000, Duration::max());
  EXPECT_EQ(Duration::max() + microseconds(1), Duration::max());
  Duration sum = Duration::max();
  EXPECT_EQ(sum += kLongestDuration, Duration::max());
  EXPECT_EQ(Time{-5} + microseconds(7), Time{2});
}

}  // namespace
}  // namespace trainyard
