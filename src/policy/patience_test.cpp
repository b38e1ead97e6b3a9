#include "policy/patience.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "policy/testing.h"

namespace trainyard {
namespace {

TEST(Backlog, IsWhatAllGpusNeedForTheWorkThatIsLeft) {
  HandYard h("1x8xV100");
  const auto estimates = make_estimator(h.yard, "declared", 0, 1);
  Backlog backlog(h.yard, *estimates);
  const JobId runs = h.running(gang(4, 1, hours(8)), 0);
  backlog.on_phase(runs, Phase::starting, Phase::running);
  EXPECT_EQ(backlog.time_for_all(), hours(4));
  const JobId waits = h.submit(gang(8, 1, hours(2)));
  backlog.on_phase(waits, Phase::absent, Phase::queued);
  EXPECT_EQ(backlog.time_for_all(), hours(6));
  h.at(hours(6));
  EXPECT_EQ(backlog.time_for_all(), hours(3)) << "the one that runs has 2 h left on 4 GPUs";
  backlog.on_phase(runs, Phase::running, Phase::done);
  EXPECT_EQ(backlog.time_for_all(), hours(2));
}

TEST(Backlog, FollowsWhatIsBelievedAndHasNothingOfWhoOutlivedIt) {
  HandYard h("1x8xV100");
  const auto estimates = make_estimator(h.yard, "declared", 0, 1);
  Backlog backlog(h.yard, *estimates);
  const JobId runs = h.running(gang(4, 1, hours(8)), 0), waits = h.submit(gang(8, 1, hours(2)));
  backlog.on_phase(runs, Phase::starting, Phase::running);
  backlog.on_phase(waits, Phase::absent, Phase::queued);
  h.at(hours(4));
  HandYard::must(h.yard.apply(Event::rate_of(h.yard.now(), runs, Rate::taking(2))));
  backlog.renew(runs);
  EXPECT_EQ(backlog.time_for_all(), hours(4 + 2)) << "4 h of work take it 8 h, on half of the GPUs";
  HandYard::must(h.yard.apply(Event::rate_of(h.yard.now(), runs, Rate::stopped())));
  backlog.renew(runs);
  EXPECT_EQ(backlog.time_for_all(), hours(2 + 2)) << "nobody knows how long that takes";
  HandYard::must(h.yard.apply(Event::rate_of(h.yard.now(), runs, Rate{})));
  backlog.renew(runs);
  h.at(hours(100));
  backlog.go_on();
  EXPECT_EQ(backlog.time_for_all(), hours(2)) << "92 h more than it should have taken";
  EXPECT_EQ(backlog.time_for(runs), Duration{});
  backlog.on_phase(runs, Phase::running, Phase::done);
  EXPECT_EQ(backlog.time_for_all(), hours(2));
}

/// Decides, and those that are told to leave do so at once.
void decide_and_leave(HandPolicy& h) {
  h.decide();
  for (const std::uint32_t job : leaving(h)) h.tell(EventKind::drained, JobId{job});
  h.decide();
}

TEST(Patience, AWaitBeginsAnewWhenAJobIsPaused) {
  HandPolicy h("1x1xV100", "srtf", {"queue.patience=3h", "yard.min_run=0", "yard.turn=0"});
  const JobId longest = h.submit(gang(1, 1, hours(90)));
  h.decide();
  for (const int hour : {1, 4}) {
    h.at(hours(hour));
    const JobId shorter = h.submit(gang(1, 1, hours(2)));
    decide_and_leave(h);
    EXPECT_EQ(h.phase(longest), Phase::queued);
    EXPECT_EQ(h.wake, h.yard.now() + hours(3) + microseconds(1)) << "whatever it waited before";
    h.at(hours(hour + 2));
    h.tell(EventKind::finished, shorter);
    h.decide();
    EXPECT_EQ(h.phase(longest), Phase::running);
  }
}

TEST(Patience, AFairWaitIsSoManyTimesTheLongestBacklog) {
  HandPolicy h("1x8xV100", "backfill=greedy", {"queue.fair_wait=2"});
  h.submit(gang(2, 1, hours(32)));  // 8 h of all GPUs
  const JobId large = h.submit(gang(8, 1, hours(2)));
  h.decide();
  EXPECT_EQ(h.phase(large), Phase::queued);
  EXPECT_EQ(h.wake, Time{} + hours(20) + microseconds(1));
  h.at(hours(20));
  const JobId passes = h.submit(gang(1, 1, hours(6)));
  h.decide();
  EXPECT_EQ(h.phase(passes), Phase::running);
  h.at(hours(20) + microseconds(1));
  const JobId late = h.submit(gang(1, 1, hours(30)));
  h.decide();
  EXPECT_EQ(h.phase(late), Phase::queued) << "it would delay the one that has waited too long";
}

TEST(Patience, WorkThatWasNotThereDoesNotMakeAFairWaitLonger) {
  HandPolicy h("1x8xV100", "backfill=greedy", {"queue.fair_wait=2"});
  Job wrong = gang(2, 1, hours(1));
  wrong.estimate = hours(3200);
  const JobId first = h.submit(wrong);
  const JobId large = h.submit(gang(8, 1, hours(2)));
  h.decide();
  h.at(hours(1));
  h.tell(EventKind::finished, first);
  h.submit(gang(2, 1, hours(32)));
  h.tell(EventKind::cancelled, large);
  const JobId late = h.submit(gang(8, 1, hours(2)));
  h.decide();
  EXPECT_EQ(h.phase(late), Phase::queued);
  EXPECT_EQ(h.wake, Time{} + hours(21) + microseconds(1)) << "twice 8 h and 2 h, not 802 h";
}

TEST(Patience, WorkThatNobodyBelievesInAnyMoreDoesNotMakeAFairWaitLonger) {
  HandPolicy h("1x1xV100", "backfill=greedy queue.estimates=residual", {"queue.fair_wait=2"});
  Job wrong = gang(1, 1, hours(1));
  wrong.estimate = hours(100);
  std::vector<JobId> jobs;
  for (int i = 0; i < 20; ++i) jobs.push_back(h.submit(wrong));
  h.decide();
  const auto bound = [&] {
    const std::string why = h.policy->explain(jobs.back()).sentence;
    return why.substr(why.find("goes before"));
  };
  EXPECT_EQ(bound(), "goes before all others once it has waited for 166d 16h");
  for (int i = 0; i < 18; ++i) {
    h.at(hours(i + 1));
    h.tell(EventKind::finished, jobs[static_cast<std::size_t>(i)]);
    h.decide();
  }
  EXPECT_EQ(bound(), "goes before all others, as it has waited for longer than 3h 51m");
}

TEST(Patience, WhatIsBelievedOnlyLaterIsNeitherAddedNorTakenOff) {
  HandPolicy h("1x8xV100", "backfill=greedy", {"queue.fair_wait=2"});
  const JobId runs = h.submit(gang(8, 1, hours(10))), waits = h.submit(gang(8));
  h.decide();
  const auto bound = [&] {
    const std::string why = h.policy->explain(waits).sentence;
    return why.substr(why.find("once"));
  };
  const auto believe = [&](Duration work) {
    HandYard::must(h.yard.apply(Event::estimate_of(h.yard.now(), runs, {.work = work})));
    h.decide();
  };
  EXPECT_EQ(bound(), "once it has waited for 22h");
  for (int i = 0; i < 100; ++i) believe(hours(i % 2 == 0 ? 200 : 10));
  EXPECT_EQ(bound(), "once it has waited for 22h");
  believe(hours(5));
  EXPECT_EQ(bound(), "once it has waited for 12h");
  believe(hours(8));
  EXPECT_EQ(bound(), "once it has waited for 18h");
  believe(hours(200));
  EXPECT_EQ(bound(), "once it has waited for 22h") << "as at first, and no more";
  h.at(hours(3));
  h.tell(EventKind::finished, runs);
  const JobId late = h.submit(gang(8, 1, minutes(30)));
  h.decide();
  const std::string why = h.policy->explain(late).sentence;
  EXPECT_EQ(why.substr(why.find("once")), "once it has waited for 8h") << "3 h and 1 h";
}

TEST(Patience, WhoHasNoMachinesHoldsNobodyUp) {
  HandPolicy h("2x8xV100", "order=trial-first backfill=greedy preempt=benefit",
               {"queue.patience=1h", "queue.trial_worth=100", "yard.min_run=0"});
  h.submit(gang(8, 1, hours(99)));
  h.decide();
  h.tell(EventKind::machine_down, MachineId{1});
  const JobId large = h.submit(gang(16));
  h.decide();
  h.at(hours(50));
  Job quick = gang(1, 1, minutes(5));
  quick.job_class = JobClass::trial;
  const JobId comes = h.submit(quick);
  decide_and_leave(h);
  EXPECT_EQ(h.phase(large), Phase::queued) << "eight of its GPUs are down";
  EXPECT_THAT(h.policy->explain(large).sentence,
              testing::HasSubstr("goes before all others once its machines are up, as it has "
                                 "waited for longer than 1h"));
  EXPECT_EQ(h.phase(comes), Phase::running) << "though it has waited for fifty times too long";
  h.tell(EventKind::machine_up, MachineId{1});
  const JobId late = h.submit(quick);
  decide_and_leave(h);
  EXPECT_EQ(h.phase(late), Phase::queued) << "now it may have all that there is";
}

TEST(Patience, WhatAFairWaitWasIsKeptOverARestart) {
  const std::vector<std::string> fair{"queue.fair_wait=2"};
  Learnt kept;
  {
    HandPolicy before("1x8xV100", "backfill=greedy", fair);
    before.at(hours(1));
    before.submit(gang(8, 1, hours(10)));
    before.decide();
    before.policy->save_learnt(kept);
  }
  HandPolicy h("1x8xV100", "backfill=greedy", fair);
  const auto bound = [&] {
    const JobId job = h.submit(gang(9, 1, minutes(30)));
    h.decide();
    const std::string why = h.policy->explain(job).sentence;
    h.tell(EventKind::cancelled, job);
    return why.substr(why.find("goes before"));
  };
  h.at(hours(2));
  EXPECT_EQ(bound(), "goes before all others once it has waited for 2h");
  h.policy->recall(kept, h.yard.now());
  EXPECT_EQ(bound(), "goes before all others once it has waited for 20h");
  h.at(days(28 + 1));
  EXPECT_EQ(bound(), "goes before all others once it has waited for 20h");
  h.at(days(2 * 28 + 1));
  EXPECT_EQ(bound(), "goes before all others once it has waited for 2h") << "long ago";
  for (const std::vector<double>& wrong :
       {std::vector<double>{}, {1}, {1, 2, 3, 4, -5}, {1e300, 1e300, 1e300, 1e300, 1e300}})
    h.policy->recall({{kept.begin()->first, wrong}}, h.yard.now());
  EXPECT_NE(h.policy->explain(h.submit(gang(8))).sentence, "");
}

TEST(Patience, TrialJobsRespectTheReservationToo) {
  HandPolicy h("1x8xV100", "order=trial-first backfill=greedy", {"queue.patience=1h"});
  h.submit(gang(2, 1, hours(9))), h.submit(gang(8));
  h.decide();
  h.at(hours(2));
  const JobId longer = h.submit(trial(gang(1, 1, hours(20)))), shorter = h.submit(trial(gang(1)));
  h.decide();
  EXPECT_EQ(h.phase(longer), Phase::queued);
  EXPECT_EQ(h.phase(shorter), Phase::running);
}

TEST(Patience, WhoIsOutOfItMayPauseOthersAndIsNotPaused) {
  HandPolicy h("1x1xV100", "xion", {"queue.patience=1h", "yard.min_run=0", "yard.turn=0"});
  h.submit(gang(1, 1, hours(5)));
  h.decide();
  const JobId longest = h.submit(gang(1, 1, hours(50)));
  h.decide();
  EXPECT_EQ(h.phase(longest), Phase::queued);
  h.at(hours(1) + seconds(1));
  decide_and_leave(h);
  EXPECT_EQ(h.phase(longest), Phase::running) << "it has more left, and has waited too long";
  h.submit(gang(1, 1, minutes(1)));
  h.decide();
  EXPECT_EQ(h.phase(longest), Phase::running) << "and stays";
}

}  // namespace
}  // namespace trainyard
