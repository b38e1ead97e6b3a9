// Clocks that somebody sets, or that were wrong at a start: durations are what has passed, and
// times are the wall clock's again as soon as it is right.
#include <SQLiteCpp/SQLiteCpp.h>
#include <gtest/gtest.h>

#include <thread>

#include "live/loop/yardmaster_fixture.h"

namespace trainyard {
namespace {

class Clocks : public YardmasterTest {
 protected:
  void pass(Duration time) { system.pass(time), system.set_wall_clock_by(time); }
  void end(JobNumber job, Time at, bool knows_steady) {
    RunReport report;
    report.kind = Kind::exited, report.id = {job, 1}, report.at = at;
    if (knows_steady) report.steady = system.steady_clock();
    engine->report(report);
    EXPECT_TRUE(becomes(job, "done"));
  }
  void expect_lasted(JobNumber job, Duration time) {
    const JobState state = record(job).life.state;
    EXPECT_GT(state.done, time - seconds(1));
    EXPECT_LT(state.done, time + seconds(30));
    EXPECT_LT((state.since - state.first_start - time).us, seconds(30).us);
  }
  [[nodiscard]] bool is_now(Time time) const {
    return std::abs((system.wall_clock() - time).us) < seconds(30).us;
  }
};

TEST_F(Clocks, WhatRanIsWhatHasPassedWhateverTheClockIsSetTo) {
  for (const Duration step : {Duration{-hours(1).us}, hours(1), Duration{-days(400).us}, days(400)})
    for (const bool knows_steady : {false, true}) {
      const JobNumber job = submit(spec());
      run(job);
      pass(minutes(10));
      system.set_wall_clock_by(step);
      pass(minutes(5));
      nudge();
      end(job, system.wall_clock(), knows_steady);
      expect_lasted(job, minutes(15));
      EXPECT_TRUE(is_now(record(job).life.state.since)) << "times follow the clock";
    }
}

/// Its end was written by a clock that was set before anybody heard of it.
TEST_F(Clocks, AnEndThatWasNotSeenIsPlacedByTheSteadyClock) {
  const JobNumber job = submit(spec());
  run(job);
  master.reset();
  pass(minutes(10));
  RunReport report;
  report.kind = Kind::exited, report.id = {job, 1};
  report.at = system.wall_clock(), report.steady = system.steady_clock();
  pass(minutes(20));
  system.set_wall_clock_by(Duration{-hours(1).us});
  begin();
  engine->report(report);
  ASSERT_TRUE(becomes(job, "done"));
  expect_lasted(job, minutes(10));
}

/// Nobody heard of its start either.
TEST_F(Clocks, WhatBeganAndEndedUnseenLastedWhatItRan) {
  for (const bool is_paused_first : {false, true}) {
    const JobNumber job = submit(spec());
    const std::uint32_t last = is_paused_first ? 2 : 1;
    if (is_paused_first) {
      run(job);
      pass(minutes(7));
      engine->report(asks_again({job, 1}));
    }
    ASSERT_TRUE(told(fmt::format("start {}.{}", job, last)));
    master.reset();
    pass(minutes(2));
    RunReport report;
    report.kind = Kind::exited, report.id = {job, last};
    report.at = system.wall_clock(), report.steady = system.steady_clock();
    report.ran = minutes(1);
    pass(minutes(20));
    begin();
    engine->report(report);
    ASSERT_TRUE(becomes(job, "done"));
    const Duration done = record(job).life.state.done;
    const Duration whole = is_paused_first ? minutes(8) : minutes(1);
    EXPECT_GE(done, whole);
    EXPECT_LT(done, whole + seconds(30));
  }
}

/// Else a daemon that is killed in between leaves times of both clocks.
TEST_F(Clocks, TimesThatWereMovedAreOnDiskBeforeWhatIsAskedForThen) {
  run(submit(spec()));
  const auto kept = [&] {
    SQLite::Database file(directory.path() + "/journal.db", SQLite::OPEN_READONLY);
    return file.execAndGet("SELECT value FROM setting WHERE key = 'clock'").getString();
  };
  const std::string before = kept();
  system.set_wall_clock_by(hours(1));
  system.hold("journal.commit");
  std::thread other([&] { submit(spec()); });
  system.wait_for_hold();
  EXPECT_NE(kept(), before);
  system.go_on();
  other.join();
}

/// The last event has the time that the clock showed before it was set back.
TEST_F(Clocks, ARestartRightAfterTheClockWasSetBackAddsNothing) {
  const JobNumber job = submit(spec());
  run(job);
  pass(minutes(10));
  system.set_wall_clock_by(Duration{-hours(1).us});
  nudge();
  ASSERT_EQ(system.log().count(LogLevel::warning, "clock was set back by"), 1U);
  begin();
  pass(minutes(5));
  end(job, system.wall_clock(), true);
  expect_lasted(job, minutes(15));
}

TEST_F(Clocks, AStartWithAClockFarAheadHealsWhenItIsRight) {
  master.reset();
  system.set_wall_clock_by(days(3000));
  begin();
  const JobNumber job = submit(spec());
  run(job);
  pass(minutes(10));
  system.set_wall_clock_by(Duration{-days(3000).us});
  nudge();
  EXPECT_EQ(system.log().count(LogLevel::warning, "clock was set back by"), 1U);
  EXPECT_TRUE(eventually([&] { return is_now(record(job).submitted + minutes(10)); }));
  pass(minutes(10));
  end(job, system.wall_clock(), true);
  expect_lasted(job, minutes(20));
  EXPECT_TRUE(is_now(record(submit(spec())).submitted));
}

TEST_F(Clocks, ItHealsAlsoWhenItWasSetRightWhileNobodyWasThere) {
  for (const bool reboots : {false, true}) {
    system.set_wall_clock_by(days(3000));
    nudge();
    const JobNumber job = submit(spec());
    ASSERT_TRUE(is_now(record(job).submitted));
    master.reset();
    if (reboots) system.reboot();
    system.set_wall_clock_by(Duration{-days(3000).us});
    begin();
    nudge();
    EXPECT_TRUE(is_now(record(submit(spec())).submitted)) << reboots;
  }
}

/// A clock without a battery shows 1970 until the network has told it the time.
TEST_F(Clocks, ATimeThatCannotBeIsNotFollowed) {
  const JobNumber before = submit(spec());
  master.reset();
  system.reboot();
  system.set_wall_clock_by(Time{} - system.wall_clock());
  begin();
  const JobNumber job = submit(spec());
  EXPECT_GE(record(job).submitted, record(before).submitted);
  nudge();
  EXPECT_EQ(system.log().count(LogLevel::error, "clock shows a year before 2020"), 1U) << "once";
}

/// As a start does, at whose end it is later than it was when it began.
TEST(LiveClock, IsNotAheadOfWhatItWasToldLately) {
  HandSystem system;
  LiveClock clock(system, std::nullopt, Time{});
  system.pass(seconds(50)), system.set_wall_clock_by(seconds(50));
  clock.advance_to(clock.now() - seconds(1));
  EXPECT_LT(std::abs(clock.off_by().us), seconds(20).us);
  clock.advance_to(clock.now() + seconds(100));
  EXPECT_LT(std::abs((clock.off_by() + seconds(100)).us), seconds(20).us);
}

TEST_F(Clocks, EventsGoOnToBeToldWhenTimeGoesBack) {
  system.set_wall_clock_by(Duration{-hours(5).us});
  const JobNumber job = submit(spec());
  ASSERT_TRUE(eventually([&] { return master->last_event() > 0; }));
  const std::int64_t seen = master->last_event();
  run(job);
  EXPECT_FALSE(master->events(kAda, seen, seconds(20)).events.empty());
}

}  // namespace
}  // namespace trainyard
