// Whom each preemption chooses, on yards made by hand.
#include <gtest/gtest.h>

#include <set>

#include "policy/testing.h"

namespace trainyard {
namespace {

Job lasting(std::int32_t workers, Duration duration) {
  return costly(gang(workers, 1, duration), minutes(1), {}, {});
}

TEST(SrtfBlind, WhoWouldStayLongestLeaves) {
  HandPolicy h("1x8xV100", "srtf", kAtOnce);
  for (const int hour : {5, 9, 7, 2}) h.submit(lasting(2, hours(hour)));
  h.decide();
  h.submit(gang(2, 1, hours(1)));
  h.decide();
  EXPECT_EQ(leaving(h), std::vector{1U});
  EXPECT_EQ(h.phases(), "running draining running running reserved");
  EXPECT_EQ(h.refused, 0U);
}

TEST(SrtfBlind, AsManyAsAreNeededButOnlyThoseWithMoreLeft) {
  HandPolicy h("1x8xV100", "srtf", kAtOnce);
  for (const int hour : {5, 9, 7, 2}) h.submit(lasting(2, hours(hour)));
  h.decide();
  h.submit(gang(6, 1, hours(3)));
  h.decide();
  EXPECT_EQ(leaving(h), (std::vector{0U, 1U, 2U}));
  h.submit(gang(8, 1, hours(2)));
  h.decide();
  EXPECT_EQ(h.phase(JobId{5}), Phase::queued) << "2 h left is not more than 2 h";
}

TEST(SrtfBlind, TheProtectedAreLeftAndAskedForAgain) {
  HandPolicy h("1x8xV100", "srtf", {"yard.min_run=10m"});
  h.submit(lasting(8, hours(5)));
  h.decide();
  h.at(minutes(4));
  h.submit(gang(8, 1, hours(1)));
  h.decide();
  EXPECT_TRUE(leaving(h).empty());
  EXPECT_EQ(h.wake, Time{} + minutes(10));
  h.at(minutes(10));
  h.decide();
  EXPECT_EQ(leaving(h), std::vector{0U});
}

TEST(LongestRemaining, TrialJobsPauseBatchJobsOnly) {
  HandPolicy h("1x8xV100", "preempt=longest-remaining", kAtOnce);
  h.submit(trial(lasting(3, hours(9))));
  h.submit(lasting(3, hours(2)));
  h.submit(lasting(2, hours(4)));
  h.decide();
  h.submit(lasting(2, minutes(1)));
  h.decide();
  EXPECT_TRUE(leaving(h).empty()) << "a batch job waits";
  h.tell(EventKind::cancelled, JobId{3});
  h.submit(trial(gang(1, 1, hours(20))));
  h.decide();
  EXPECT_EQ(leaving(h), std::vector{2U}) << "the longest batch job, though the trial is longer";
}

TEST(ByLevel, TheWorstLevelLeavesFirstAndInItTheLast) {
  HandPolicy h("1x8xV100", "las", {"order.thresholds=1h/4h", "yard.min_run=0"});
  h.submit(lasting(2, hours(99)));
  h.submit(lasting(2, hours(99)));
  h.decide();
  h.at(hours(1));  // both crossed an hour of GPU time
  h.submit(lasting(2, hours(99)));
  h.submit(lasting(2, hours(99)));
  h.decide();
  h.at(minutes(100));  // the first two 200 GPU minutes each, the others 80: all in level 1
  h.submit(gang(3));
  h.decide();
  EXPECT_EQ(leaving(h), (std::vector{2U, 3U})) << "the last submitted of the level";
  h.at(hours(2));  // the first two cross 4 h: level 2
  h.submit(gang(1));
  h.decide();
  EXPECT_EQ(leaving(h), (std::vector{1U, 2U, 3U}));
}

TEST(ByLevel, EqualsDoNotPauseEachOther) {
  HandPolicy h("1x8xV100", "las", kAtOnce);
  h.submit(lasting(8, hours(9)));
  h.decide();
  h.at(minutes(5));
  h.submit(gang(8));
  h.decide();
  EXPECT_TRUE(leaving(h).empty()) << "40 GPU minutes: still level 0";
  h.at(minutes(8));
  h.decide();
  EXPECT_EQ(leaving(h), std::vector{0U}) << "64 GPU minutes: level 1";
}

TEST(ByLevel, AnOrderWithoutLevelsPausesNobody) {
  HandPolicy h("1x8xV100", "order=srtf preempt=by-level", kAtOnce);
  h.submit(lasting(8, hours(9)));
  h.decide();
  h.submit(gang(8, 1, minutes(1)));
  h.decide();
  EXPECT_TRUE(leaving(h).empty());
}

/// Who leaves for a trial job of 2 GPUs among four batch jobs of 2.
std::vector<std::uint32_t> drawn(std::uint64_t seed) {
  HandYard h("1x8xV100");
  const auto policy =
      PolicySpec::parse("preempt=random")->build(h.yard, seed, FlowClasses::ignored);
  for (int i = 0; i < 4; ++i) h.running(lasting(2, hours(9)), 0);
  h.submit(trial(gang(2)));
  Plan plan(h.yard);
  policy->decide(plan);
  std::vector<std::uint32_t> jobs;
  for (std::uint32_t i = 0; i < 4; ++i)
    if (h.phase(JobId{i}) == Phase::draining) jobs.push_back(i);
  return jobs;
}

TEST(RandomVictims, OneIsDrawnAndEveryoneCanBe) {
  std::set<std::uint32_t> seen;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    const auto victims = drawn(seed);
    ASSERT_EQ(victims.size(), 1U) << "seed " << seed;
    EXPECT_EQ(drawn(seed), victims) << "same seed, same draw";
    seen.insert(victims.front());
  }
  EXPECT_EQ(seen.size(), 4U);
}

TEST(RandomVictims, BatchJobsPauseNobodyAndTrialJobsAreSafe) {
  HandPolicy h("1x8xV100", "preempt=random", kAtOnce);
  h.submit(trial(lasting(4, hours(9))));
  h.submit(lasting(4, hours(9)));
  h.decide();
  h.submit(lasting(8, hours(1)));
  h.decide();
  EXPECT_TRUE(leaving(h).empty());
  h.tell(EventKind::cancelled, JobId{2});
  h.submit(trial(gang(8)));
  h.decide();
  EXPECT_TRUE(leaving(h).empty()) << "the batch job alone is not enough";
  h.tell(EventKind::cancelled, JobId{3});
  h.submit(trial(gang(4)));
  h.decide();
  EXPECT_EQ(leaving(h), std::vector{1U});
}

}  // namespace
}  // namespace trainyard
