// What a job that was told to leave has done: it saved, it was killed, it failed to save, or it has
// come to its end.
#include <gmock/gmock.h>

#include "live/loop/yardmaster_fixture.h"

namespace trainyard {
namespace {

using testing::HasSubstr;

class PauseTruth : public YardmasterTest {
 protected:
  /// A batch job that has run for ten minutes and is told to leave for a trial job.
  PauseTruth() {
    batch = submit(spec(4));
    run(batch);
    system.pass(minutes(10)), system.set_wall_clock_by(minutes(10));
    submit(spec(4, JobClass::trial));
    EXPECT_TRUE(told("stop 1.1"));
    report.kind = Kind::exited, report.id = {batch, 1};
    report.at = Time::never();
  }
  [[nodiscard]] std::string last_event(const std::string& kind) {
    std::string details;
    for (const LiveEvent& event : master->events(kAda, 0, {}).events)
      if (event.kind == kind && event.job == batch) details = event.details;
    return details;
  }

  JobNumber batch = 0;
  RunReport report;
};

TEST_F(PauseTruth, WhatLeavesByTheSignalIsPaused) {
  report.exit_status = 143;
  engine->report(report);
  ASSERT_TRUE(becomes(batch, "queued"));
  EXPECT_GE(record(batch).life.state.done, minutes(10));
  EXPECT_FALSE(record(batch).life.state.lost_by_pause);
}

TEST_F(PauseTruth, WhatIsKilledHasNotSaved) {
  report.exit_status = 137, report.was_killed = true;
  engine->report(report);
  ASSERT_TRUE(becomes(batch, "queued"));
  EXPECT_EQ(record(batch).life.state.done, Duration{});
  EXPECT_GE(record(batch).life.state.lost, minutes(10));
  EXPECT_TRUE(record(batch).life.state.lost_by_pause);
  EXPECT_THAT(last_event("paused"), HasSubstr("\"killed\":true"));
}

TEST_F(PauseTruth, WhatWasKilledAfterItSaidThatItSavedHasSaved) {
  report.exit_status = 137, report.was_killed = true, report.word = {JobWord::Kind::saved, ""};
  engine->report(report);
  ASSERT_TRUE(becomes(batch, "queued"));
  EXPECT_GE(record(batch).life.state.done, minutes(10));
}

TEST_F(PauseTruth, WhatEndsWith0IsDone) {
  engine->report(report);
  EXPECT_TRUE(becomes(batch, "done"));
}

TEST_F(PauseTruth, WhatEndsWith0AndSaysThatItSavedIsPaused) {
  report.word = {JobWord::Kind::saved, ""};
  engine->report(report);
  EXPECT_TRUE(becomes(batch, "queued"));
}

TEST_F(PauseTruth, WhatEndsWith0AndAsksToRunAgainIsPaused) {
  report.asked_requeue = true;
  engine->report(report);
  EXPECT_TRUE(becomes(batch, "queued"));
}

TEST_F(PauseTruth, AFinalSaveThatFailsIsAFailure) {
  report.exit_status = 1, report.word = {JobWord::Kind::failed, "no space left on device"};
  engine->report(report);
  EXPECT_TRUE(becomes(batch, "failed"));
  EXPECT_EQ(record(batch).reason, "its final save failed: no space left on device");
}

}  // namespace
}  // namespace trainyard
