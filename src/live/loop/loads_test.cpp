// The time from a run's start to its first sign of progress: it is load, no work, and no pause
// comes in it.
#include "live/loop/loads.h"

#include <gmock/gmock.h>

#include "live/loop/yardmaster_fixture.h"

namespace trainyard {
namespace {

using testing::HasSubstr;
using testing::Not;

/// To the second: time passes in tests too.
MATCHER_P(IsAbout, duration, format(duration)) {
  return arg > duration - seconds(1) && arg < duration + seconds(30);
}

class LoadsTest : public YardmasterTest {
 protected:
  LoadsTest() {
    load_time = minutes(10);
    begin();
  }
  /// A batch job whose processes have just begun.
  void begin_batch() {
    batch = submit(spec(4));
    run(batch);
  }
  void pass(Duration time) {
    system.pass(time);
    nudge();
  }
  /// It has done so many steps, in this run.
  void tell(std::int64_t step, std::uint32_t run = 1) {
    RunReport report;
    report.kind = Kind::progress, report.id = {batch, run}, report.at = Time::never();
    report.progress.step = step;
    engine->report(report);
    ASSERT_TRUE(eventually([&] {
      const auto told = record(batch).progress;
      return told && told->step == step;
    }));
  }
  /// It is paused for a trial job, which is done at once; `word`: what it says of its save.
  void pause(std::uint32_t run, JobWord word = {}) {
    const JobNumber trial = submit(spec(4, JobClass::trial));
    ASSERT_TRUE(told(fmt::format("stop {}.{}", batch, run)));
    RunReport left;
    left.kind = Kind::exited, left.id = {batch, run}, left.at = Time::never();
    left.exit_status = 143, left.word = word;
    engine->report(left);
    ASSERT_TRUE(told(fmt::format("start {}.1", trial)));
    engine->report(Kind::started, {trial, 1});
    engine->report(Kind::exited, {trial, 1}, 0);
    ASSERT_TRUE(told(fmt::format("start {}.{}", batch, run + 1)));
    engine->report(Kind::started, {batch, run + 1});
    ASSERT_TRUE(becomes(batch, "running"));
  }
  [[nodiscard]] const JobState& life() { return (last_ = record(batch)).life.state; }
  [[nodiscard]] std::string last_event(const std::string& kind) {
    std::string details;
    const auto events = master->events_of(kAda, batch);
    for (const LiveEvent& event : *events)
      if (event.kind == kind) details = event.details;
    return details;
  }
  [[nodiscard]] bool is_left_alone() {
    const JobNumber trial = submit(spec(4, JobClass::trial));
    const bool is_queued = state(trial) == "queued";
    (void)master->cancel(kAda, {trial});
    return is_queued;
  }

  JobNumber batch = 0;
  JobRecord last_;
};

TEST_F(LoadsTest, TimeBeforeTheFirstProgressIsLoad) {
  begin_batch();
  EXPECT_TRUE(record(batch).is_loading());
  pass(minutes(3));
  tell(1);
  EXPECT_EQ(state(batch), "running");
  EXPECT_FALSE(record(batch).is_loading());
  EXPECT_LT(life().done, seconds(30)) << "nothing was done while it loaded";
  EXPECT_THAT(life().lost, IsAbout(minutes(3)));
  EXPECT_THAT(*record(batch).load.took, IsAbout(minutes(3)));
  EXPECT_THAT(last_event("loaded"), HasSubstr("\"load_s\":18"));
  pass(minutes(2));
  engine->report(Kind::exited, {batch, 1}, 0);
  ASSERT_TRUE(becomes(batch, "done"));
  EXPECT_THAT(life().done, IsAbout(minutes(2)));
}

TEST_F(LoadsTest, AJobThatLoadsIsNotPaused) {
  begin_batch();
  pass(minutes(3));
  EXPECT_TRUE(is_left_alone());
  tell(1);
  EXPECT_FALSE(is_left_alone());
}

TEST_F(LoadsTest, MinRunCountsFromTheFirstProgress) {
  given = {"fitgpp", {"yard.min_run=4m"}};
  begin();
  begin_batch();
  pass(minutes(9));
  tell(1);
  pass(minutes(3));
  EXPECT_TRUE(is_left_alone());
  pass(minutes(1));
  EXPECT_FALSE(is_left_alone());
}

TEST_F(LoadsTest, AJobThatTellsNothingHasLoadedAfterAWhileAndAllOfItIsWork) {
  begin_batch();
  pass(minutes(9));
  EXPECT_TRUE(is_left_alone());
  pass(minutes(1));
  ASSERT_TRUE(eventually([&] { return !record(batch).is_loading(); }));
  EXPECT_THAT(life().done, IsAbout(minutes(10)));
  EXPECT_FALSE(is_left_alone());
}

TEST_F(LoadsTest, AJobThatEndsBeforeThatHasWorkedAllTheTime) {
  begin_batch();
  pass(minutes(3));
  engine->report(Kind::exited, {batch, 1}, 0);
  ASSERT_TRUE(becomes(batch, "done"));
  EXPECT_THAT(life().done, IsAbout(minutes(3)));
}

TEST_F(LoadsTest, OneThatIsPausedWithoutASignIsLeftAloneForLongerEachTime) {
  begin_batch();
  pass(minutes(10));
  pause(1);
  pass(minutes(10));
  EXPECT_TRUE(is_left_alone());
  pass(minutes(10));
  pause(2);
  pass(minutes(25));
  EXPECT_TRUE(is_left_alone());
  tell(1, 3);
  EXPECT_THAT(life().lost, testing::Ge(minutes(55))) << "its earlier runs were load, too";
  EXPECT_LT(life().done, seconds(30));
}

TEST_F(LoadsTest, OneThatSaysThatItSavedIsNot) {
  begin_batch();
  pass(minutes(10));
  pause(1, {JobWord::Kind::saved, ""});
  pass(minutes(10));
  EXPECT_FALSE(is_left_alone());
}

TEST_F(LoadsTest, WhatALateSignWasIsToldByTheNextReport) {
  begin_batch();
  pass(minutes(60));
  tell(10);  // of 6 minutes each, as it turns out
  pass(minutes(30));
  tell(15);
  EXPECT_THAT(*record(batch).load.took, testing::Lt(minutes(1)));
  EXPECT_THAT(life().done, testing::Ge(minutes(60))) << "booked so far";
}

TEST_F(LoadsTest, AJobThatWasTakenForLoadedTooEarlyLosesTheWorkThatWasBooked) {
  begin_batch();
  pass(minutes(60));
  EXPECT_THAT(life().done, testing::Ge(minutes(10)));
  tell(1);
  pass(minutes(6));
  tell(2);
  EXPECT_THAT(*record(batch).load.took, IsAbout(minutes(54)));
  EXPECT_THAT(life().done, IsAbout(minutes(12)));
  EXPECT_THAT(life().lost, IsAbout(minutes(54)));
}

TEST_F(LoadsTest, TheNextRunIsLeftAloneForAsLongAsItsLoadMayTake) {
  begin_batch();
  pass(minutes(9));
  tell(1);
  pause(1);
  pass(minutes(30));
  EXPECT_TRUE(is_left_alone()) << "4 times as long as the last took";
  pass(minutes(7));
  EXPECT_FALSE(is_left_alone());
  EXPECT_THAT(life().lost, testing::Gt(minutes(18))) << "as long as the last took is no work";
}

TEST_F(LoadsTest, IsLearntByUserAndModelAndKeptOverARestart) {
  JobSpec bert = spec(4);
  bert.model = "bert";
  batch = submit(bert);
  run(batch);
  pass(minutes(5));
  tell(1);
  engine->report(Kind::exited, {batch, 1}, 0);
  ASSERT_TRUE(becomes(batch, "done"));
  begin();
  const JobNumber like = submit(bert);
  run(like);
  EXPECT_THAT(record(like).load.presumed,
              testing::AllOf(testing::Ge(minutes(20)), testing::Lt(minutes(22))));
  const JobNumber other = submit(bert, kBob);
  engine->report(Kind::exited, {like, 1}, 0);
  run(other);
  EXPECT_EQ(record(other).load.presumed, minutes(10));
}

TEST_F(LoadsTest, ARunGoesOnLoadingOverARestart) {
  begin_batch();
  pass(minutes(3));
  begin();
  engine->report(Kind::started, {batch, 1});
  EXPECT_TRUE(is_left_alone());
  EXPECT_EQ(state(batch), "running");
  pass(minutes(8));
  ASSERT_TRUE(eventually([&] { return !record(batch).is_loading(); }));
  EXPECT_THAT(life().done, IsAbout(minutes(11)));
}

/// It ended while there was no daemon, or a clock was wrong. It was taken for loaded meanwhile.
TEST_F(LoadsTest, WhatWasBookedAfterAnUnseenEndIsTakenBack) {
  begin_batch();
  RunReport ended;
  ended.kind = Kind::exited, ended.id = {batch, 1};
  ended.at = system.wall_clock() + minutes(20), ended.ran = minutes(20);
  master.reset();
  system.pass(hours(5));
  begin();
  ASSERT_TRUE(eventually([&] { return !record(batch).is_loading(); }));
  EXPECT_THAT(life().done, IsAbout(hours(5)));
  engine->report(ended);
  ASSERT_TRUE(becomes(batch, "done"));
  EXPECT_THAT(life().done, IsAbout(minutes(20)));
}

TEST_F(LoadsTest, NoMoreThanTheTimeThatItCountedAsLoadingIsTakenForLoad) {
  load_time = {};
  begin();
  batch = submit(spec(4));
  run(batch);
  pass(hours(3));
  tell(1);  // its load took 3 h
  pass(minutes(1));
  JobWord saved;
  saved.kind = JobWord::Kind::saved;
  pause(1, saved);
  const Duration before = life().done;
  pass(hours(1));
  ASSERT_TRUE(eventually([&] { return !record(batch).is_loading(); }));
  EXPECT_GE(life().done, before) << "of what earlier runs did nothing is taken back";
}

TEST_F(LoadsTest, ATimeLimitCountsFromTheStart) {
  JobSpec limited = spec(4);
  limited.time = minutes(8);
  batch = submit(limited);
  run(batch);
  pass(minutes(6));
  tell(1);
  pass(minutes(2));
  EXPECT_TRUE(told("stop 1.1"));
}

TEST_F(LoadsTest, APauseNamesTheJobThatItMadeRoomForAndWhatItCost) {
  begin_batch();
  pass(minutes(3));
  tell(1);
  const JobNumber trial = submit(spec(4, JobClass::trial));
  ASSERT_TRUE(told("stop 1.1"));
  EXPECT_TRUE(record(batch).is_leaving());
  EXPECT_EQ(master->why(kAda, batch)->pause.made_room_for, trial);
  EXPECT_FALSE(master->why(kAda, batch)->pause_took);
  pass(minutes(1));
  engine->report(Kind::exited, {batch, 1}, 143);
  ASSERT_TRUE(becomes(batch, "queued"));
  EXPECT_TRUE(record(batch).is_paused());
  EXPECT_EQ(record(batch).last_pause.made_room_for, trial);
  EXPECT_EQ(master->why(kAda, batch)->pause.made_room_for, trial);
  EXPECT_EQ(master->why(kBob, batch)->pause.made_room_for, 0);
  EXPECT_THAT(last_event("pausing"), HasSubstr(fmt::format("\"for\":{}", trial)));
  EXPECT_THAT(last_event("paused"), HasSubstr("\"took_s\":6"));
  engine->report(Kind::started, {trial, 1});
  engine->report(Kind::exited, {trial, 1}, 0);
  ASSERT_TRUE(told("start 1.2"));
  EXPECT_FALSE(record(batch).is_paused());
  engine->report(Kind::started, {batch, 2});
  ASSERT_TRUE(becomes(batch, "running"));
  pass(minutes(4));
  tell(2, 2);
  EXPECT_THAT(last_event("loaded"), HasSubstr("\"pause_cost_s\":30"));
  EXPECT_TRUE(record(batch).pause_cost());
}

TEST_F(LoadsTest, EventsOfOthersJobsAreShownWithoutDetails) {
  begin_batch();
  const auto own = master->events_of(kAda, batch), others = master->events_of(kBob, batch);
  ASSERT_EQ(own->size(), others->size());
  EXPECT_EQ(own->front().kind, "submitted");
  EXPECT_EQ(own->back().kind, "running");
  EXPECT_THAT(own->back().details, HasSubstr("\"run\":1"));
  EXPECT_THAT(others->back().details, Not(HasSubstr("run")));
  EXPECT_FALSE(master->events_of(kAda, 99));
}

}  // namespace
}  // namespace trainyard
