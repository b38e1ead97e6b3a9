#include "workload/import/fields.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace trainyard {
namespace {

TEST(Fields, PlainSecondsAreExact) {
  EXPECT_EQ(parse_seconds("315359999999.999999").value().us, 315'359'999'999'999'999);
  EXPECT_EQ(parse_seconds("0.000001").value().us, 1);
  EXPECT_EQ(parse_seconds("66.0").value(), seconds(66));
  EXPECT_EQ(parse_seconds("1.5h").value(), minutes(90));
  for (const char* bad : {"", ".", "-1", "315360000001", "1e99", "x", "12345678901234567890"})
    EXPECT_FALSE(parse_seconds(bad)) << bad;
}

RC_GTEST_PROP(Fields, TheFastPathAgreesWithTheGeneralOne, ()) {
  const auto us = *rc::gen::inRange<std::int64_t>(0, std::int64_t{1} << 50);
  const std::string text = fmt::format("{}.{:06}", us / 1'000'000, us % 1'000'000);
  RC_ASSERT(parse_seconds(text).value().us == us);
  RC_ASSERT(parse_duration(text).value().us == us);
}

TEST(Fields, DatesAndTimes) {
  EXPECT_EQ(parse_date_time("1970-01-02 00:00:01").value(), Time{} + days(1) + seconds(1));
  EXPECT_EQ(parse_date_time("2020-02-29T23:59:59").value(),
            parse_date_time("2020-02-29 23:59:59").value());
  for (const char* bad : {"", "2019-02-29 00:00:00", "2020-1-1 00:00:00", "2020-01-01 24:00:00",
                          "2020-01-01 00:00:00Z", "2020-01-01", "+020-01-01 00:00:00"})
    EXPECT_FALSE(parse_date_time(bad)) << bad;
}

TEST(Fields, SlurmDurations) {
  EXPECT_EQ(parse_slurm_duration("01:02:03").value(), hours(1) + minutes(2) + seconds(3));
  EXPECT_EQ(parse_slurm_duration("12-00:00:00").value(), days(12));
  for (const char* bad : {"", "1", "-01:00:00", "00:60:00", "00:00:60", "x-00:00:00"})
    EXPECT_FALSE(parse_slurm_duration(bad)) << bad;
}

TEST(Fields, WholeNumbers) {
  EXPECT_EQ(parse_whole("4.0", 0, 9).value(), 4);
  for (const char* bad : {"", "4.", "4.5", "10", "-1", "4x", "99999999999999999999"})
    EXPECT_FALSE(parse_whole(bad, 0, 9)) << bad;
}

}  // namespace
}  // namespace trainyard
