#include <gtest/gtest.h>

#include "policy/testing.h"

namespace trainyard {
namespace {

/// Of workers of one GPU each.
Job elastic(std::int32_t least, std::int32_t most, Duration duration = hours(5)) {
  Job job = gang(least, 1, duration);
  job.min_workers = least, job.max_workers = most;
  return job;
}

class EqualSplit : public testing::Test {
 protected:
  /// How many workers each has, by number; 0: it waits.
  [[nodiscard]] std::string sizes() const {
    std::string text;
    for (std::uint32_t j = 0; j < h.yard.jobs(); ++j) {
      const bool holds = holds_gpus(h.phase(JobId{j}));
      text += fmt::format("{}{}", j == 0 ? "" : " ", holds ? h.yard.workers(JobId{j}) : 0);
    }
    return text;
  }

  /// The next round, when all that were told to leave have left.
  void round(Duration at) {
    h.at(at);
    h.decide();
    for (const std::uint32_t job : leaving(h)) h.tell(EventKind::drained, JobId{job});
    h.decide();
  }

  HandPolicy h{"2x4xV100", "joint=equal-split"};
};

TEST_F(EqualSplit, TheExampleOfTheHeader) {
  h.submit(elastic(2, 8));
  h.decide();
  EXPECT_EQ(sizes(), "8");
  EXPECT_EQ(h.wake, Time{} + minutes(10));
  h.at(minutes(3));
  h.submit(elastic(1, 8)), h.submit(elastic(1, 2));
  h.decide();
  EXPECT_EQ(sizes(), "8 0 0") << "until the next round";
  round(minutes(10));
  EXPECT_EQ(sizes(), "4 2 2");
  EXPECT_EQ(h.refused, 0U);
}

TEST_F(EqualSplit, AJobThatLeavesMakesOthersGrowAtTheNextRound) {
  h.submit(elastic(1, 8)), h.submit(elastic(1, 8));
  h.decide();
  EXPECT_EQ(sizes(), "4 4");
  h.at(minutes(5));
  h.tell(EventKind::finished, JobId{1});
  h.decide();
  EXPECT_EQ(sizes(), "4 0");
  round(minutes(10));
  EXPECT_EQ(sizes(), "8 0");
  EXPECT_EQ(h.yard.state(JobId{0}).pauses, 1U);
  round(minutes(20));
  EXPECT_EQ(h.yard.state(JobId{0}).pauses, 1U) << "nothing has changed since";
}

TEST_F(EqualSplit, BetweenRoundsAJobTakesWhatIsFree) {
  h.submit(elastic(1, 3));
  h.decide();
  EXPECT_EQ(sizes(), "3");
  h.at(minutes(1));
  h.submit(elastic(2, 4)), h.submit(elastic(2, 4));
  h.decide();
  EXPECT_EQ(sizes(), "3 4 0") << "one GPU is left, and the third needs two";
  round(minutes(10));
  EXPECT_EQ(sizes(), "2 3 3");
}

TEST_F(EqualSplit, NobodyPassesTheFirstThatWaits) {
  h.submit(gang(6));
  h.decide();
  h.submit(gang(4)), h.submit(gang(1));
  h.decide();
  EXPECT_EQ(sizes(), "6 0 0");
  EXPECT_EQ(h.policy->explain(JobId{1}).sentence, "needs 4 GPUs; 2 free");
  EXPECT_EQ(h.policy->explain(JobId{2}).sentence, "behind job 1");
  EXPECT_EQ(h.policy->explain(JobId{2}).place, 2U);
  EXPECT_EQ(h.wake, Time::never()) << "no size can change";
  h.tell(EventKind::finished, JobId{0});
  h.decide();
  EXPECT_EQ(sizes(), "0 4 1");
}

TEST_F(EqualSplit, WhoHasNotRunForMinRunKeepsItsSize) {
  h.submit(costly(elastic(1, 8), {}, {}, minutes(9) + seconds(30)));
  h.decide();
  h.at(minutes(9) + seconds(30));
  h.tell(EventKind::loaded, JobId{0});
  h.submit(elastic(1, 8));
  h.decide();
  round(minutes(10));
  EXPECT_EQ(sizes(), "8 0");
  round(minutes(20));
  EXPECT_EQ(sizes(), "4 4");
}

TEST_F(EqualSplit, AJobThatNeedsNothingGoesToAMachineThatIsUp) {
  h.tell(EventKind::machine_down, MachineId{0});
  const JobId job = h.submit(gang(1, 0));
  h.decide();
  EXPECT_EQ(h.yard.placement(job), on(1, 1));
  EXPECT_EQ(h.refused, 0U);
}

TEST_F(EqualSplit, AnElasticJobIsSaidToNeedItsLeast) {
  h.submit(gang(7));
  h.decide();
  h.submit(elastic(3, 8));
  h.decide();
  EXPECT_EQ(h.policy->explain(JobId{1}).sentence, "needs at least 3 GPUs; 1 free");
}

}  // namespace
}  // namespace trainyard
