#include <gtest/gtest.h>

#include "policy/testing.h"

namespace trainyard {
namespace {

constexpr const char* kBeside = " joint=market joint.takes=open";

/// Of 1 to 8 workers of one GPU each; it is said to take so long with 4.
Job stretching(Duration duration) {
  Job job = gang(4, 1, duration);
  job.min_workers = 1, job.max_workers = 8;
  return job;
}

class MarketAndStagesTest : public testing::Test {
 protected:
  void use(const std::string& stages, std::vector<std::string> settings = {}) {
    settings.emplace_back("yard.min_run=0");
    h = std::make_unique<HandPolicy>("1x8xV100", stages + kBeside, settings);
  }
  /// All that were told to leave have left.
  void let_leave() {
    for (const std::uint32_t job : leaving(*h)) h->tell(EventKind::drained, JobId{job});
    h->decide();
  }

  std::unique_ptr<HandPolicy> h;
};

TEST_F(MarketAndStagesTest, AnOpenJobHasAllThatIsFree) {
  use("order=srtf");
  const JobId open = h->submit(stretching(hours(10)));
  h->decide();
  EXPECT_EQ(h->yard.workers(open), 8);
  EXPECT_EQ(h->refused, 0U);
}

TEST_F(MarketAndStagesTest, AnOpenJobThatIsLeftAloneTakesAllBeforeTheRound) {
  use("order=srtf");
  const JobId fixed = h->submit(gang(4, 1, hours(1))), open = h->submit(stretching(hours(10)));
  h->decide();
  EXPECT_EQ(h->yard.workers(open), 4);
  h->at(minutes(1));
  h->tell(EventKind::finished, fixed);
  h->decide();
  EXPECT_EQ(h->phase(open), Phase::draining) << "the round would be in 4 minutes";
  let_leave();
  EXPECT_EQ(h->yard.workers(open), 8);
}

TEST_F(MarketAndStagesTest, ARunningOpenJobIsToldWhenItMayGetMore) {
  use("order=srtf");
  h->submit(gang(4, 1, hours(1)));
  const JobId open = h->submit(stretching(hours(10)));
  h->decide();
  h->at(minutes(1));
  EXPECT_EQ(h->policy->explain(open).sentence, "GPUs are dealt out again at the next round, in 4m");
}

TEST_F(MarketAndStagesTest, AShortFixedJobPausesAnOpenOneAtOnce) {
  use("order=srtf preempt=benefit");
  const JobId open = h->submit(stretching(hours(10)));
  h->decide();
  h->at(minutes(1));
  const JobId brief = h->submit(gang(4, 1, minutes(5)));
  h->decide();
  EXPECT_EQ(h->phase(open), Phase::draining);
  EXPECT_EQ(h->phase(brief), Phase::reserved);
  EXPECT_EQ(h->yard.making_room_for(open), brief);
  let_leave();
  EXPECT_EQ(h->phase(brief), Phase::running);
  EXPECT_EQ(h->phase(open), Phase::running) << "it buys the rest at once";
  EXPECT_EQ(h->yard.workers(open), 4);
}

TEST_F(MarketAndStagesTest, AnOpenJobShrinksInARoundForAFixedOneThatBids) {
  use("order=srtf");
  const JobId open = h->submit(stretching(hours(10)));
  h->decide();
  h->at(minutes(1));
  const JobId fixed = h->submit(gang(4, 1, hours(2)));
  h->decide();
  EXPECT_EQ(h->phases(), "running queued") << "no stage pauses jobs, and it is no round";
  EXPECT_EQ(h->wake, Time{} + minutes(5));
  h->at(minutes(5));
  h->decide();
  EXPECT_EQ(h->phases(), "draining queued") << "what it wins stays free";
  let_leave();
  EXPECT_EQ(h->phases(), "running running");
  EXPECT_EQ(h->yard.workers(open), 4);
  EXPECT_EQ(h->yard.workers(fixed), 4);
  EXPECT_EQ(h->refused, 0U);
}

TEST_F(MarketAndStagesTest, AFixedJobThatIsLongerWaits) {
  use("order=srtf");
  h->submit(stretching(hours(1)));
  h->decide();
  h->at(minutes(1));
  h->submit(gang(8, 1, hours(100)));
  h->decide();
  h->at(minutes(5));
  h->decide();
  EXPECT_EQ(h->phases(), "running queued");
}

/// It shrinks for none but the job that is out of patience, which all that is free is kept for.
TEST_F(MarketAndStagesTest, TheMarketRestsWhileAJobIsOutOfPatience) {
  for (const std::string patience : {"never", "10m"}) {
    use("order=srtf backfill=greedy", {"queue.patience=" + patience});
    h->submit(gang(4, 1, hours(2)));
    h->submit(gang(8, 1, hours(20)));
    h->decide();
    EXPECT_EQ(h->phases(), "running queued");
    h->at(minutes(11));
    const JobId open = h->submit(stretching(hours(10)));
    h->decide();
    EXPECT_EQ(h->phase(open), patience == "never" ? Phase::running : Phase::queued) << patience;
  }
}

TEST_F(MarketAndStagesTest, EachSaysWhyItsJobsWait) {
  use("order=fifo");
  h->submit(gang(8, 1, hours(1)));
  h->decide();
  const JobId open = h->submit(stretching(hours(1))), fixed = h->submit(gang(2, 1, hours(1)));
  h->decide();
  EXPECT_EQ(h->policy->explain(open).sentence,
            "needs at least 1 GPU; 0 free; GPUs are dealt out again at the next round, in 5m");
  EXPECT_EQ(h->policy->explain(open).place, 1U);
  EXPECT_EQ(h->policy->explain(fixed).sentence,
            "needs 2 GPUs; 0 free; behind job 1 (needs 4 GPUs; 0 free)");
  EXPECT_EQ(h->policy->explain(fixed).place, 2U);
}

TEST_F(MarketAndStagesTest, WhatIsBelievedIsSaidOfJobsOfEither) {
  use("order=fifo queue.estimates=residual");
  h->submit(gang(8, 1, hours(1)));
  h->decide();
  const JobId open = h->submit(stretching(hours(2))), fixed = h->submit(gang(2, 1, hours(2)));
  h->decide();
  for (const JobId job : {open, fixed})
    EXPECT_NE(h->policy->explain(job).sentence.find("is believed to take another 2h"),
              std::string::npos);
}

TEST_F(MarketAndStagesTest, StagesSayInWhichFlowClassOpenJobsAre) {
  use("order=fifo flow=srtf");
  h->submit(gang(4, 1, hours(1)));
  const JobId open = h->submit(stretching(hours(10)));
  h->decide();
  EXPECT_EQ(h->phases(), "running running");
  EXPECT_NE(h->yard.flow(open), h->yard.flow(JobId{0}));
}

/// 64 of those that wait go to market at once, and 1,000 of those that run in a round.
TEST_F(MarketAndStagesTest, VeryManyJobsTakeTurnsAtTheMarket) {
  constexpr std::uint32_t kJobs = 1100;
  h = std::make_unique<HandPolicy>("300x8xV100", std::string("order=fifo") + kBeside, kAtOnce);
  const auto doubled = [&] {
    std::uint32_t count = 0;
    for (std::uint32_t j = 0; j < kJobs; ++j) count += h->yard.workers(JobId{j}) == 2 ? 1 : 0;
    return count;
  };
  Job job = gang(1, 1, hours(10));
  job.max_workers = 2;
  for (std::uint32_t j = 0; j < kJobs; ++j) h->submit(job);
  h->decide();
  EXPECT_EQ(h->yard.held_gpus(), kJobs + doubled()) << "the stages start the others as they are";
  EXPECT_LE(doubled(), 64U);
  EXPECT_EQ(h->wake, Time{} + minutes(5));
  h->at(minutes(5));
  h->decide();
  let_leave();
  EXPECT_GE(doubled(), 1000U - 64U);
  EXPECT_LT(doubled(), kJobs);
  EXPECT_EQ(h->wake, Time{} + minutes(10));
  h->at(minutes(10));
  h->decide();
  let_leave();
  EXPECT_EQ(doubled(), kJobs);
}

TEST_F(MarketAndStagesTest, WithoutOpenJobsThereAreNoRounds) {
  use("order=fifo");
  h->submit(gang(4, 1, hours(1))), h->submit(gang(8, 1, hours(1)));
  h->decide();
  EXPECT_EQ(h->phases(), "running queued");
  EXPECT_EQ(h->wake, Time::never());
}

}  // namespace
}  // namespace trainyard
