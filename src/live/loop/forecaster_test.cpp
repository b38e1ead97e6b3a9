// What the daemon expects of its jobs, and keeps of what it promised them.
#include "live/loop/forecaster.h"

#include <gtest/gtest.h>

#include "live/loop/yardmaster_fixture.h"

namespace trainyard {
namespace {

class ForecasterTest : public YardmasterTest {
 protected:
  ForecasterTest() {
    given = {"fifo", {}};
    begin();
  }

  static JobSpec lasting(Duration time, std::int32_t gpus = 4) {
    JobSpec made = spec(gpus);
    made.time = time;
    return made;
  }
  JobOutlook expected(JobNumber job, const Identity& who = kAda) {
    master->make_forecast();
    const auto outlook = master->forecast(who, job);
    EXPECT_TRUE(outlook) << outlook.error().message;
    return outlook && !outlook->jobs.empty() ? outlook->jobs.front() : JobOutlook{};
  }
  static void expect_about(Time time, Time expected) {
    EXPECT_NEAR(time.seconds(), expected.seconds(), 120);
  }
};

/// With nothing known of lengths, each takes what it declares.
TEST_F(ForecasterTest, ExpectsAJobWhenThoseBeforeItHaveEnded) {
  const Time now = system.wall_clock();
  const JobNumber first = submit(lasting(hours(2)));
  run(first);
  const JobNumber second = submit(lasting(hours(3))), third = submit(lasting(hours(1)));
  const JobOutlook of = expected(third);
  EXPECT_TRUE(of.waits);
  expect_about(of.start.p50, now + hours(5));
  expect_about(of.end.p50, now + hours(6));
  EXPECT_FALSE(expected(first).waits);
  expect_about(expected(first).end.p50, now + hours(2));
  expect_about(record(second).expected_start.p50, now + hours(2));
  EXPECT_EQ(record(first).expected_start.p50, Time::never()) << "it has started";
  expect_about(master->why(kAda, second)->expected.p50, now + hours(2));
  const auto all = master->forecast(kAda, {});
  EXPECT_EQ(all->policy, "fifo");
  EXPECT_EQ(all->jobs.size(), 3U);
  EXPECT_FALSE(all->segments.empty());
}

TEST_F(ForecasterTest, KeepsTheFirstPromiseOfEachJob) {
  run(submit(lasting(hours(2))));
  const JobNumber job = submit(lasting(hours(3)));
  (void)expected(job);
  const auto is_promised = [&] {
    nudge();
    return record(job).promise.made != Time::never();
  };
  ASSERT_TRUE(eventually(is_promised));
  const StartPromise promised = record(job).promise;
  expect_about(promised.told.p50, system.wall_clock() + hours(2));
  ASSERT_TRUE(master->cancel(kAda, {1}));
  engine->report(Kind::exited, {1, 1});
  run(job);
  EXPECT_EQ(record(job).promise, promised) << "later forecasts change nothing";
  begin_on(*engine);
  EXPECT_EQ(record(job).promise, promised) << "a restart neither";
  master->make_forecast();
  const PromiseTallies tallies = master->forecast(kAda, {})->record;
  EXPECT_EQ(tallies[2].promises(), 1U) << "within 3 h";
  EXPECT_EQ(tallies[2].held(), 0U) << "it started at once";
  EXPECT_NEAR(tallies[2].median_error_s(), 7200, 120);
}

TEST_F(ForecasterTest, AnswersWhatWouldBeIf) {
  run(submit(lasting(hours(2))));
  OutlookQuestion more;
  more.job = lasting(hours(1), 2);
  const auto answer = master->what_if(kAda, more);
  ASSERT_TRUE(answer) << answer.error().message;
  ASSERT_NE(answer->find(0), nullptr);
  expect_about(answer->find(0)->start.p50, system.wall_clock() + hours(2));
  EXPECT_EQ(master->jobs(kAda, {})->jobs.size(), 1U) << "nothing was submitted";

  more.without = {"r0m0"};
  EXPECT_EQ(master->what_if(kAda, more)->find(0)->start.p50, Time::never());
  more.without = {"r9m9"};
  EXPECT_EQ(master->what_if(kAda, more).error().kind, Refusal::Kind::not_found);
  OutlookQuestion other;
  other.policy = "srtf";
  EXPECT_EQ(master->what_if(kAda, other)->policy, "srtf");
  other.policy = "no-such-policy";
  EXPECT_EQ(master->what_if(kAda, other).error().kind, Refusal::Kind::invalid);
  OutlookQuestion large;
  large.job = lasting(hours(1), 8);
  EXPECT_EQ(master->what_if(kAda, large).error().message,
            "this job could never run here: it " + misfit(*large.job, engine->cluster()));
}

TEST_F(ForecasterTest, ShowsOthersNothingWhereJobsArePrivate) {
  begin("1x4xV100", true);
  run(submit(lasting(hours(2))));
  const JobNumber job = submit(lasting(hours(1)), kBob);
  EXPECT_EQ(expected(job, kBob).job, job);
  EXPECT_EQ(master->forecast(kBob, {})->jobs.size(), 1U);
  EXPECT_EQ(master->forecast(kOperator, {})->jobs.size(), 2U);
  EXPECT_FALSE(master->forecast(kAda, job)) << "there is no such job of hers";
}

/// Jobs took half of what they declared: then the others are expected to.
TEST_F(ForecasterTest, GoesByHowLongJobsTook) {
  for (int i = 0; i < 12; ++i) {
    const JobNumber job = submit(lasting(hours(4)));
    run(job);
    system.pass(hours(2));
    engine->report(Kind::exited, {job, 1});
    ASSERT_TRUE(becomes(job, "done"));
  }
  run(submit(lasting(hours(4))));
  const JobNumber job = submit(lasting(hours(4)));
  const JobOutlook of = expected(job);
  const double wait = (of.drawn.p50 - master->forecast(kAda, {})->made_at).seconds();
  EXPECT_NEAR(wait, 7200, 600);
}

}  // namespace
}  // namespace trainyard
