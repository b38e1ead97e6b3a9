// What jobs left behind goes when options say so, by time that the daemon has lived through, and
// not before.
#include "live/loop/retention.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <gmock/gmock.h>

#include <algorithm>

#include "live/loop/yardmaster_fixture.h"

namespace trainyard {
namespace {

using testing::HasSubstr;

const Duration kKeep = SchedulingOptions{}.keep_output;

class RetentionTest : public YardmasterTest {
 protected:
  /// Time as both clocks show it.
  void pass(Duration time) { system.pass(time), system.set_wall_clock_by(time); }
  /// All that is due in the turn that follows has been done.
  void look() { nudge(), nudge(); }
  JobNumber end_one() {
    const JobNumber job = submit(spec());
    run(job);
    engine->report(Kind::exited, {job, 1}, 0);
    EXPECT_TRUE(becomes(job, "done"));
    return job;
  }
  std::size_t erased(const std::string& what) {
    look();
    const auto lines = engine->log();
    return static_cast<std::size_t>(std::ranges::count_if(
        lines, [&](const std::string& line) { return line.starts_with("erase " + what); }));
  }
  RetentionView view() { return *master->retention(kOperator); }
  std::size_t warnings() { return system.log().count(LogLevel::warning, "erasing is suspended"); }
};

TEST_F(RetentionTest, OutputIsKeptForItsTimeAndCheckpointsForEver) {
  const JobNumber job = end_one();
  pass(kKeep - hours(1));
  EXPECT_EQ(erased(""), 0U);
  EXPECT_EQ(view().output.kept, 1U);
  EXPECT_EQ(view().output.due, 0U);
  pass(hours(2));
  EXPECT_EQ(erased("output"), 1U);
  EXPECT_TRUE(engine->was_told(fmt::format("erase output {}.1", job)));
  EXPECT_EQ(system.log().count(LogLevel::info, "erased the output of 1 job that ended more than "),
            1U);
  pass(days(1000));
  EXPECT_EQ(erased("checkpoints"), 0U);
  EXPECT_EQ(erased("output"), 1U) << "once";
  EXPECT_EQ(view().checkpoints.kept, 1U);
  EXPECT_EQ(view().checkpoints.keep, std::nullopt);
  EXPECT_EQ(state(job), "done") << "its row stays";
}

TEST_F(RetentionTest, CheckpointsGoByAnOptionOfTheirOwn) {
  keep_checkpoints = days(90);
  begin();
  end_one();
  pass(days(89));
  EXPECT_EQ(erased("checkpoints"), 0U);
  EXPECT_EQ(erased("output"), 1U);
  pass(days(2));
  EXPECT_EQ(erased("checkpoints"), 1U);
}

/// A clock that is ahead at a start makes nothing old.
TEST_F(RetentionTest, AfterAJumpAtAStartNothingIsErasedUntilAnOperatorSaysSo) {
  end_one();
  master.reset();
  system.reboot();
  system.set_wall_clock_by(days(400));
  begin();
  pass(minutes(1));
  EXPECT_EQ(erased(""), 0U);
  EXPECT_EQ(warnings(), 1U);
  EXPECT_THAT(view().suspended, HasSubstr("400d"));
  EXPECT_THAT(view().suspended, HasSubstr("trainyard retention resume"));
  EXPECT_EQ(master->cluster(kOperator)->notices.size(), 1U);
  EXPECT_TRUE(master->cluster(kAda)->notices.empty());
  pass(kKeep + days(1));
  EXPECT_EQ(view().output.due, 1U);
  EXPECT_EQ(erased(""), 0U);
  begin();
  pass(minutes(1));
  EXPECT_EQ(erased(""), 0U) << "it outlives the daemon";
  EXPECT_EQ(system.log().count(LogLevel::warning, "erasing is still suspended"), 1U);
  EXPECT_EQ(master->resume_erasing(kAda).error().kind, Refusal::Kind::forbidden);
  EXPECT_FALSE(master->retention(kAda));
  ASSERT_TRUE(master->resume_erasing(kOperator));
  pass(minutes(1));
  EXPECT_EQ(erased("output"), 1U);
  EXPECT_EQ(master->resume_erasing(kOperator).error().kind, Refusal::Kind::conflict);
  begin();
  EXPECT_EQ(view().suspended, "");
  std::vector<std::string> kinds;
  for (const LiveEvent& event : master->events(kOperator, 0, {}).events)
    kinds.push_back(event.kind);
  EXPECT_EQ(std::ranges::count(kinds, "erasing suspended"), 1);
  EXPECT_EQ(std::ranges::count(kinds, "erasing resumed"), 1);
}

TEST_F(RetentionTest, AfterAJumpWhileItRunsTheSame) {
  for (const Duration jump : {days(400), Duration{-days(400).us}, days(2)}) {
    end_one();
    system.set_wall_clock_by(jump);
    look();
    pass(kKeep + days(1));
    EXPECT_EQ(erased(""), 0U) << format(jump);
    EXPECT_NE(view().suspended, "") << format(jump);
    ASSERT_TRUE(master->resume_erasing(kOperator));
    (void)engine->take_log();
    system.set_wall_clock_by(Duration{-jump.us});
    look();
    ASSERT_TRUE(master->resume_erasing(kOperator));
  }
  EXPECT_EQ(warnings(), 6U);
}

/// Its clock was right all the time: the steady clock of the machine says so.
TEST_F(RetentionTest, ADaemonThatWasEndedForAWeekAsksNobodyIfItsMachineWasOn) {
  end_one();
  master.reset();
  pass(days(7));
  begin();
  look();
  EXPECT_EQ(view().suspended, "");
  system.set_wall_clock_by(hours(20));
  look();
  EXPECT_EQ(view().suspended, "") << "less than a day is no jump";
}

/// The count of lived time alone does it as little as the clock alone.
TEST_F(RetentionTest, AForgedCountErasesNothingBeforeTheClockSaysSoToo) {
  end_one();
  master.reset();
  journal.reset();
  SQLite::Database(directory.path() + "/journal.db", SQLite::OPEN_READWRITE)
      .exec(fmt::format("UPDATE setting SET value = '{}' WHERE key = 'lived'", days(4000).us));
  begin();
  pass(days(29));
  EXPECT_EQ(erased(""), 0U);
  pass(days(2));
  EXPECT_EQ(erased("output"), 1U);
}

TEST_F(RetentionTest, ADayErasesNoMoreThanItMay) {
  least_erased_a_day = 2;
  begin();
  for (int i = 0; i < 5; ++i) end_one();
  EXPECT_EQ(view().output.most_a_day, 2U);
  pass(kKeep + days(1));
  EXPECT_EQ(erased("output"), 2U);
  EXPECT_EQ(system.log().count(LogLevel::info, ": 1-2; 3 jobs more are due"), 1U);
  pass(hours(2));
  EXPECT_EQ(erased("output"), 2U);
  begin();
  pass(hours(2));
  EXPECT_EQ(erased("output"), 0U) << "by another daemon neither";
  pass(days(1));
  EXPECT_EQ(erased("output"), 2U);
  pass(days(1));
  EXPECT_EQ(erased("output"), 3U);
}

TEST_F(RetentionTest, ADayOfASiteThatRunsManyJobsMayEraseTwiceWhatComesDue) {
  least_erased_a_day = 1;
  begin();
  for (int i = 0; i < 30; ++i) end_one();
  EXPECT_EQ(view().output.most_a_day, 2U) << "thirty are kept for thirty days: one a day, twice";
}

TEST(Ranges, AreShort) {
  EXPECT_EQ(ranges_of({}), "");
  EXPECT_EQ(ranges_of({7}), "7");
  EXPECT_EQ(ranges_of({9, 1, 2, 3, 7, 10}), "1-3, 7, 9-10");
}

}  // namespace
}  // namespace trainyard
