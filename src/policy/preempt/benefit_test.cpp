// When a pause pays, and whose, on yards made by hand.
#include <gtest/gtest.h>

#include "policy/testing.h"

namespace trainyard {
namespace {

/// Takes a minute to leave and none to load.
Job one(int hours_long, std::int32_t gpus = 1) {
  return costly(gang(gpus, 1, hours(hours_long)), {}, minutes(1), {});
}

TEST(Benefit, PausesOnlyIfThatPays) {
  HandPolicy h("1x1xV100", "xion", kAtOnce);
  h.submit(one(1));
  h.decide();
  h.submit(gang(1, 1, minutes(58) + seconds(1)));
  h.decide();
  EXPECT_TRUE(leaving(h).empty()) << "60 - 58 - 2 minutes, less a second";
  h.submit(gang(1, 1, minutes(56)));
  h.decide();
  EXPECT_EQ(leaving(h), std::vector{0U}) << "60 - 56 - 2 - 1 minutes: another waits beside it";
  EXPECT_EQ(h.reckoned, (std::vector<Reckonings::Told>{{JobId{2}, 60, 3600, 60}}));
}

TEST(Benefit, TellsWhatAPauseGainsTermByTermWhileTheRoomIsBeingMade) {
  HandPolicy h("1x1xV100", "xion", kAtOnce);
  h.submit(one(1));
  h.decide();
  h.submit(gang(1, 1, minutes(58) + seconds(1)));
  const JobId waiter = h.submit(gang(1, 1, minutes(56)));
  h.decide();
  const std::string gains =
      "pausing gains 1m: + 1h of waits spared - 56m of the paused jobs' wait - 2m for saving and "
      "loading - 1m for all others that wait";
  EXPECT_NE(h.policy->explain(waiter).sentence.find(gains), std::string::npos)
      << h.policy->explain(waiter).sentence;
  h.tell(EventKind::drained, JobId{0});
  EXPECT_EQ(h.policy->explain(waiter).sentence.find("gains"), std::string::npos);
}

TEST(Benefit, WaitsForTheFirstToEndRatherThanPauseTheLongest) {
  HandPolicy h("1x2xV100", "xion", kAtOnce);
  h.submit(one(100));
  h.submit(one(1));
  h.decide();
  h.submit(gang(1, 1, hours(2)));
  h.decide();
  EXPECT_TRUE(leaving(h).empty()) << "in an hour there is room; until then 2 h gain nothing";
  h.submit(gang(1, 1, minutes(10)));
  h.decide();
  EXPECT_EQ(leaving(h), std::vector{0U}) << "60 min until there is room, 180 for the two of them";
  EXPECT_EQ(h.refused, 0U);
}

TEST(Benefit, OfEquallyLongOnesTheCheapestLeaves) {
  HandPolicy h("1x3xV100", "xion", kAtOnce);
  for (const int cost : {5, 2, 9})
    h.submit(costly(gang(1, 1, hours(9)), {}, minutes(cost), minutes(cost)));
  for (int i = 0; i < 2; ++i) {
    h.decide();
    for (std::uint32_t j = 0; j < 3; ++j)
      if (h.phase(JobId{j}) == Phase::starting) h.tell(EventKind::loaded, JobId{j});
  }
  h.submit(gang(1, 1, minutes(1)));
  h.decide();
  EXPECT_EQ(leaving(h), std::vector{1U});
}

/// The longer of two jobs is paused after an hour, and would be again three hours later. If it was
/// killed the first time it has 6 h left then, but would have to do 3 h again: the other, which has
/// 4 h left, costs less.
TEST(Benefit, AJobThatLosesItsWorkByAPauseIsSpared) {
  for (const bool is_killed : {false, true}) {
    HandPolicy h("1x2xV100", "xion", kAtOnce);
    const JobId kept = h.submit(one(9));
    h.submit(one(8));
    h.decide();
    h.at(hours(1));
    const JobId brief = h.submit(gang(1, 1, minutes(1)));
    h.decide();
    ASSERT_EQ(leaving(h), std::vector{0U});
    h.tell(is_killed ? EventKind::lost : EventKind::drained, kept);
    EXPECT_EQ(h.yard.work_done(kept), is_killed ? Duration{} : hours(1));
    h.decide();
    h.tell(EventKind::finished, brief);
    h.decide();
    ASSERT_EQ(h.phase(kept), Phase::running);
    h.at(hours(4));
    EXPECT_EQ(h.yard.work_at_stake(kept), is_killed ? hours(3) : Duration{});
    h.submit(gang(1, 1, minutes(1)));
    h.decide();
    EXPECT_EQ(leaving(h), std::vector{is_killed ? 1U : 0U});
  }
}

TEST(Benefit, ManyVictimsMustPayForEachOfThem) {
  HandPolicy h("1x8xV100", "xion", kAtOnce);
  for (int i = 0; i < 8; ++i) h.submit(one(4));
  h.decide();
  h.submit(gang(8, 1, minutes(40)));
  h.decide();
  EXPECT_TRUE(leaving(h).empty()) << "4 h sooner, for 8 x 40 min";
  h.submit(gang(8, 1, minutes(10)));
  h.decide();
  EXPECT_EQ(leaving(h).size(), 8U) << "4 h sooner, for 8 x 10 min and 9 + 8 x 2 min of saving";
}

/// Four others wait for 16 GPUs, of which half were held for a day, or one in 16.
TEST(Benefit, TheHigherTheLoadTheMoreALossDelays) {
  for (const auto& [gpus, pauses] : std::vector<std::pair<int, bool>>{{1, true}, {8, false}}) {
    HandPolicy h("1x16xV100", "xion", kAtOnce);
    h.submit(one(48, gpus));
    h.decide();
    h.at(hours(24));
    for (int i = 0; i < 16 - gpus; ++i) h.submit(one(48));
    h.decide();
    for (int i = 0; i < 4; ++i) h.submit(gang(16, 1, hours(9)));
    h.decide();
    ASSERT_TRUE(leaving(h).empty());
    h.submit(gang(1, 1, hours(48) - minutes(2) - seconds(24)));
    h.decide();
    EXPECT_EQ(!leaving(h).empty(), pauses)
        << "24 s are gained, and others lose " << (gpus == 1 ? "16" : "30");
  }
}

/// There are GPUs enough without anybody's leaving.
TEST(Benefit, PausesForCpusToo) {
  Cluster cluster = *parse_cluster_shorthand("1x4xV100");
  cluster.machines[0].capacity.milli_cpus = 4000;
  HandPolicy h(cluster, "xion", kAtOnce);
  Job greedy = one(9);
  greedy.per_worker.milli_cpus = 3000;
  h.submit(greedy);
  h.decide();
  Job brief = gang(1, 1, minutes(1));
  brief.per_worker.milli_cpus = 2000;
  h.submit(brief);
  h.decide();
  EXPECT_EQ(leaving(h), std::vector{0U});
}

TEST(Benefit, TheProtectedAreAskedForAgain) {
  HandPolicy h("1x1xV100", "xion", {"yard.min_run=10m"});
  h.submit(one(9));
  h.decide();
  h.submit(gang(1, 1, minutes(1)));
  h.decide();
  EXPECT_TRUE(leaving(h).empty());
  EXPECT_EQ(h.wake, Time{} + minutes(10));
  h.at(minutes(10));
  h.decide();
  EXPECT_EQ(leaving(h), std::vector{0U});
}

TEST(Benefit, ATrialJobsMinutesHaveAPrice) {
  for (const auto& [price, pauses] :
       std::vector<std::pair<std::string, bool>>{{"1", false}, {"30", true}}) {
    HandPolicy h("1x1xV100", "fitgpp+xion", {"yard.min_run=0", "queue.trial_worth=" + price});
    h.submit(one(1));
    h.decide();
    h.at(minutes(50));
    h.submit(trial(gang(1, 1, minutes(30))));
    h.decide();
    EXPECT_EQ(!leaving(h).empty(), pauses) << "it would wait for 10 min; price " << price;
  }
}

TEST(Benefit, ABatchJobDoesNotPauseATrialJobThatIsWorthMore) {
  for (const auto& [price, pauses] :
       std::vector<std::pair<std::string, bool>>{{"1", true}, {"30", false}}) {
    HandPolicy h("1x1xV100", "fitgpp+xion", {"yard.min_run=0", "queue.trial_worth=" + price});
    h.submit(trial(one(1)));
    h.decide();
    h.submit(gang(1, 1, minutes(10)));
    h.decide();
    EXPECT_EQ(!leaving(h).empty(), pauses) << price;
  }
}

// Who waits for longer than all who wait are spared pays for no victim, and is told so without a
// look at any; but for the two cases in which it may pay all the same.

TEST(Benefit, APauseThatIsFreeIsDoneThoughItSparesLessThanItSuspends) {
  for (const bool is_free : {true, false}) {
    HandPolicy h("1x2xV100", "xion", kAtOnce);
    h.submit(is_free ? gang(1, 1, hours(100)) : one(100));
    h.submit(is_free ? gang(1, 1, hours(1)) : one(1));
    h.decide();
    h.submit(gang(1, 1, hours(2)));
    h.decide();
    EXPECT_EQ(leaving(h), is_free ? std::vector{0U} : std::vector<std::uint32_t>{})
        << "in an hour there is room, and it suspends the other for two";
  }
}

/// All GPUs are busy for an hour. Then a job takes one of them that needs more time than all else,
/// and a gang that needs all of them for ten minutes waits.
struct CriticalJobRuns : HandPolicy {
  explicit CriticalJobRuns(const std::string& critical = "first")
      : HandPolicy("1x8xV100", "order=smith backfill=greedy preempt=benefit",
                   {"yard.min_run=0", "queue.trial_worth=30", "queue.critical=" + critical}) {
    const JobId before = submit(gang(8, 1, hours(1)));
    decide();
    submit(gang(1, 1, hours(8)));
    submit(gang(8, 1, minutes(10)));
    at(hours(1));
    tell(EventKind::finished, before);
    decide();
    at(hours(2));
    decide();
  }
};

TEST(Benefit, ACriticalJobIsNotPausedForAnOrdinaryOne) {
  EXPECT_EQ(CriticalJobRuns().phases(), "done running queued");
  EXPECT_EQ(CriticalJobRuns("ordinary").phases(), "done queued running");
}

TEST(Benefit, NoJobIsCriticalIfOthersCome) {
  CriticalJobRuns h;
  h.submit(gang(8, 1, hours(1)));
  h.decide();
  EXPECT_EQ(leaving(h), std::vector{1U});
}

/// 64 GPUs: a width is 2 at most. Pausing one of the jobs of a GPU gains 20 h less a minute and
/// some, pausing the gang of eight 18 h, which counts twice.
TEST(Benefit, AWideJobIsPausedRatherThanNarrowOnesWithMoreLeft) {
  for (const int left : {18, 9}) {
    HandPolicy h("8x8xV100", "xion", kAtOnce);
    for (int i = 0; i < 56; ++i) h.submit(one(20));
    h.submit(one(left, 8));
    h.decide();
    h.submit(gang(8, 1, minutes(1)));
    h.decide();
    EXPECT_EQ(leaving(h).size(), left == 18 ? 1U : 8U) << left;
  }
}

TEST(Benefit, AnOverdueJobIsPausedOnlyAfterItsQuantum) {
  HandPolicy h("1x1xV100", "xion",
               {"queue.patience=1h", "queue.overdue_share=0.5", "yard.min_run=0", "yard.turn=0"});
  const JobId before = h.submit(gang(1, 1, hours(4)));
  h.decide();
  const JobId late = h.submit(gang(1, 1, hours(50)));
  h.at(hours(1) + seconds(1));
  h.decide();
  h.tell(EventKind::drained, before);
  h.decide();
  ASSERT_EQ(h.phase(late), Phase::running);
  EXPECT_EQ(h.wake, Time{} + (hours(1) + seconds(1)) * 2);
  h.at(hours(2));
  h.decide();
  EXPECT_TRUE(leaving(h).empty());
  h.at((hours(1) + seconds(1)) * 2);
  h.decide();
  EXPECT_EQ(leaving(h), std::vector{1U}) << "it has more left than the other";
}

/// Nothing happens, but the longer the batch job runs the more of it is expected to be left.
TEST(Benefit, LooksAgainWhereTheTimeLeftGrows) {
  HandPolicy h("1x1xV100", "live");
  h.submit(costly(gang(1, 1, days(9)), seconds(30), {}, {}));
  h.decide();
  h.at(seconds(1));
  h.submit(trial(gang(1)));
  int looks = 0;
  for (h.decide(); leaving(h).empty() && h.yard.now() < Time{} + hours(1); ++looks) {
    ASSERT_GT(h.wake, h.yard.now());
    ASSERT_LT(h.wake, Time::never());
    h.at(h.wake - Time{});
    h.decide();
  }
  EXPECT_EQ(leaving(h), std::vector{0U});
  EXPECT_LE(h.yard.now(), Time{} + minutes(1)) << "30 t > 30 x 30 + 30 s, from 31 s on";
  EXPECT_LE(looks, 20);
}

}  // namespace
}  // namespace trainyard
