#include "forecast/track_record.h"

#include <gtest/gtest.h>

#include "base/random.h"

namespace trainyard {
namespace {

Time instant(Duration since) {
  return Time{} + since;
}

TimeBand band(Duration p10, Duration p50, Duration p90) {
  return {instant(p10), instant(p50), instant(p90)};
}

/// 1 min is added to waits before they are compared.
TimeBand around_two_hours() {
  return band(minutes(59), minutes(119), minutes(239));
}

TEST(TrackRecord, LeavesTheDrawsAloneWhileNothingIsKnown) {
  const TrackRecord record;
  EXPECT_EQ(record.scale(instant({})).early(), -1);
  EXPECT_EQ(record.scale(instant({})).late(), 1);
  EXPECT_EQ(BandScale().promised(around_two_hours(), instant({})), around_two_hours());
}

/// The example of the header: one promise in ten missed by u = 2.
TEST(TrackRecord, WidensTheBandByWhatPromisesMissedBy) {
  TrackRecord record;
  for (int i = 0; i < 1000; ++i) {
    record.promise(i, instant({}), around_two_hours());
    record.started(i, instant(i % 100 < 11 ? minutes(479) : minutes(119)));
  }
  const BandScale scale = record.scale(instant(days(1)));
  EXPECT_NEAR(scale.late(), 2, 1e-9);
  EXPECT_EQ(scale.early(), 0) << "none came early";
  const TimeBand promised = scale.promised(around_two_hours(), instant({}));
  EXPECT_NEAR((promised.p90 - instant({})).seconds(), minutes(479).seconds(), 0.001);
  EXPECT_EQ(promised.p10, promised.p50);
  EXPECT_EQ(promised.p50, instant(minutes(119))) << "the middle is that of the draws";
}

/// Half of the jobs start as expected and the others wait on: nine in ten are not known to have
/// started in time.
TEST(TrackRecord, CountsJobsThatStillWait) {
  TrackRecord record;
  for (int i = 0; i < 1000; ++i) {
    record.promise(i, instant({}), around_two_hours());
    if (i % 2 == 0) record.started(i, instant(minutes(119)));
  }
  EXPECT_NEAR(record.scale(instant(minutes(479))).late(), 2, 1e-9) << "as long as they have waited";
  for (int i = 1; i < 1000; i += 2) record.withdraw(i);
  EXPECT_EQ(record.scale(instant(minutes(479))).late(), 0) << "what was cancelled says nothing";
}

/// Starts are from three times as wide a distribution as draws say: with the record, 80% are held.
TEST(TrackRecord, HoldsFourInFiveWhateverTheDrawsSay) {
  Random random(1);
  TrackRecord record;
  int held = 0;
  const int rounds = 4000, warm = 1000;
  for (int i = 0; i < rounds; ++i) {
    const Time now = instant(hours(i));
    const double s =
        7140 * std::exp2(3 * (random.uniform() + random.uniform() + random.uniform() - 1.5));
    const TimeBand drawn{now + minutes(59), now + minutes(119), now + minutes(239)};
    const TimeBand promised = record.scale(now).promised(drawn, now);
    const Time start = now + Duration{static_cast<std::int64_t>(s * 1e6)};
    if (i >= warm && promised.p10 <= start && start <= promised.p90) ++held;
    record.promise(i, now, drawn);
    record.started(i, start);
  }
  EXPECT_NEAR(held / double(rounds - warm), 0.8, 0.03);
}

/// Zero width stays zero where the draws were right each time.
TEST(TrackRecord, KeepsWhatIsExactExact) {
  TrackRecord record;
  const TimeBand sure = band(hours(2), hours(2), hours(2));
  for (int i = 0; i < 200; ++i)
    record.promise(i, instant({}), sure), record.started(i, instant(hours(2)));
  EXPECT_EQ(record.scale(instant(days(1))).promised(sure, instant({})), sure);
}

TEST(TrackRecord, KeepsTheLastPromisesAlone) {
  TrackRecord record;
  for (std::size_t i = 0; i < TrackRecord::kMost + 10; ++i)
    record.promise(static_cast<std::int64_t>(i), instant({}), around_two_hours());
  EXPECT_EQ(record.size(), TrackRecord::kMost);
  record.started(3, instant(hours(1)));  // forgotten
  record.started(static_cast<std::int64_t>(TrackRecord::kMost), instant(hours(1)));
  record.promise(1, instant({}), {instant(hours(1)), instant(hours(2)), Time::never()});
  EXPECT_EQ(record.size(), TrackRecord::kMost) << "how far it may be off is not known";
}

}  // namespace
}  // namespace trainyard
