// The daemon ended and begun again, and what the machine refuses it meanwhile.
#include <gtest/gtest.h>

#include "live/loop/yardmaster_fixture.h"

namespace trainyard {
namespace {

TEST_F(YardmasterTest, ARestartTakesUpWhatWas) {
  const JobNumber batch = submit(spec(4));
  run(batch);
  const JobNumber trial = submit(spec(4, JobClass::trial));
  ASSERT_TRUE(told("stop 1.1"));
  begin();
  EXPECT_TRUE(engine->was_told("adopt 1.1"));
  EXPECT_TRUE(engine->was_told("stop 1.1")) << "the pause goes on";
  EXPECT_EQ(state(batch), "draining");
  EXPECT_EQ(state(trial), "reserved");
  engine->report(Kind::exited, {batch, 1}, 143);
  EXPECT_TRUE(told("start 2.1"));
  EXPECT_TRUE(becomes(batch, "queued"));
  EXPECT_EQ(submit(spec()), 3) << "numbers go on";
}

/// Of ada's next job, which waits.
class LearningMasterTest : public YardmasterTest {
 protected:
  LearningMasterTest() {
    given = {"srtf", {"queue.estimates=residual"}};
    begin();
  }

  JobSpec for_12h() {
    JobSpec job = spec(4);
    job.time = hours(12);
    return job;
  }
  void run_for(Duration time) {
    const JobNumber job = submit(for_12h());
    run(job);
    system.pass(time);
    engine->report(Kind::exited, {job, 1}, 0);
    ASSERT_TRUE(becomes(job, "done"));
  }
  std::string belief() {
    const JobNumber busy = submit(spec(4));
    run(busy);
    const auto why = master->why(kAda, submit(for_12h()));
    return why ? why->reason.sentence : why.error().message;
  }
};

TEST_F(LearningMasterTest, WhatWasLearntOutlivesTheDaemon) {
  run_for(hours(3));
  begin();
  EXPECT_THAT(belief(), testing::HasSubstr("took 25% of that"));
}

TEST_F(LearningMasterTest, WhatWasLearntIsKeptWithoutACleanEnd) {
  run_for(hours(3));
  system.pass(minutes(6));
  nudge();
  EXPECT_TRUE(eventually(
      [&] { return journal->setting("learnt").value_or("").find("=ada") != std::string::npos; }));
}

TEST_F(LearningMasterTest, WhatCannotBeReadIsLearntAnew) {
  for (const char* text :
       {"{broken", "7", R"({"lengths/1/=ada": "x"})", R"({"lengths/1/=ada": [[]]})"}) {
    master.reset();
    JournalChange change;
    change.settings = {{"learnt", text}};
    ASSERT_TRUE(journal->commit(change));
    begin();
    EXPECT_GE(system.log().count(LogLevel::warning, "had learnt cannot be read"), 1U) << text;
  }
  EXPECT_THAT(belief(), testing::HasSubstr("(it declares 12h)"));
}

/// One that goes on from what the preset has learnt in weeks, with a job that runs.
class OldMasterTest : public YardmasterTest {
 protected:
  OldMasterTest() {
    given = {"trainyard", {}};
    begin("2x8xV100");
    run(submit(spec(8)));
  }
  void begin_with(const std::string& learnt) {
    master.reset();
    JournalChange change;
    change.settings = {{"learnt", learnt}};
    ASSERT_TRUE(journal->commit(change));
    system.pass(minutes(1));
    begin("2x8xV100");
  }
};

TEST_F(OldMasterTest, TheLongestWorkOfLateIsKnownAfterARestart) {
  begin_with(R"({"longest backlog": [1e18, 1440000000000, 1e18, 0, 0]})");
  run(submit(spec(8)));
  const auto why = master->why(kAda, submit(spec(8)));
  ASSERT_TRUE(why) << why.error().message;
  EXPECT_THAT(why->reason.sentence, testing::HasSubstr("waited for 50d"));
}

TEST_F(OldMasterTest, TrialJobsOfDaysAgoAreOfDaysAgoAfterARestart) {
  std::string arrivals;
  for (int day = 14; day >= 5; --day) arrivals += fmt::format(", {}, 1, 1, 1, 1", day * 86'400);
  begin_with(fmt::format(R"({{"trial-rooms/any": [60, 2, 60, 2{}]}})", arrivals));
  submit(spec(8));
  EXPECT_TRUE(told("start 2.1")) << "nothing is kept free for them";
  master.reset();
  const auto kept = journal->setting("learnt").value_or("");
  EXPECT_NE(kept.find("[60.0,2.0,60.0,2.0,12096"), std::string::npos) << kept;
}

TEST_F(YardmasterTest, WhatWasNeverStartedIsStartedAfterARestart) {
  const JobNumber job = submit(spec());
  ASSERT_TRUE(told("start 1.1"));
  begin();
  ASSERT_TRUE(engine->was_told("adopt 1.1"));
  EXPECT_FALSE(engine->was_told("start 1.1"));
  engine->report(Kind::lost, {job, 1});
  system.pass(seconds(2));
  nudge();
  run(job, 2);
  EXPECT_EQ(engine->launch({job, 2}).restarts, 0U) << "it has not run before";
}

TEST_F(YardmasterTest, OnASmallerMachineOnlyRunsWhoseGpusAreGoneLeave) {
  const JobNumber job = submit(spec(1)), large = submit(spec(3));
  run(job);
  run(large);
  begin("1x2xV100");
  EXPECT_TRUE(told("stop 2.1"));
  const JobNumber next = submit(spec(1));
  nudge();
  EXPECT_EQ(state(job), "running");
  EXPECT_FALSE(engine->was_told("stop 1.1"));
  EXPECT_FALSE(engine->was_told("start 3.1")) << "the large one still lives on the second GPU";
  engine->report(Kind::exited, {large, 1}, 143);
  EXPECT_TRUE(told("start 3.1"));
  (void)next;
}

TEST_F(YardmasterTest, AFullDiskRefusesNewWorkAndLosesNothing) {
  const JobNumber running = submit(spec(4));
  run(running);
  system.fail_at("journal.commit", "database or disk is full");
  const auto refused = master->submit(kAda, spec());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, Refusal::Kind::unavailable);
  EXPECT_THAT(refused.error().message, testing::HasSubstr("disk is full"));
  EXPECT_FALSE(master->counters().accepting);
  engine->report(Kind::exited, {running, 1}, 0);  // a fact that cannot be written down yet
  ASSERT_TRUE(eventually([&] { return !master->counters().accepting; }));
  EXPECT_EQ(state(running), "running") << "as the journal has it";
  EXPECT_FALSE(engine->was_told("forget 1.1"));
  EXPECT_EQ(system.log().count(LogLevel::error, "database or disk is full"), 1U);
  system.heal();
  EXPECT_TRUE(becomes(running, "done"));
  EXPECT_EQ(system.log().count(LogLevel::info, "can be written again"), 1U);
  EXPECT_TRUE(told("forget 1.1"));
  EXPECT_TRUE(master->counters().accepting);
  EXPECT_EQ(submit(spec()), 2) << "the refused one took no number";
}

TEST_F(YardmasterTest, WhatCannotBeStartedIsTriedAgain) {
  engine->refuse_starts("no space left on device");
  const JobNumber job = submit(spec());
  EXPECT_TRUE(eventually([&] {
    return system.log().count(LogLevel::error, "could not be started: no space left") > 0;
  }));
  EXPECT_GE(record(job).runs, 1U);
  engine->refuse_starts("");
  EXPECT_TRUE(eventually([&] {
    system.pass(seconds(1));
    nudge();
    return !engine->log().empty();
  }));
  EXPECT_EQ(record(job).restarts, 0U);
}

TEST_F(YardmasterTest, WhatCannotBeStartedForLongIsNotGivenUp) {
  engine->refuse_starts("no space left on device");
  const JobNumber job = submit(spec());
  EXPECT_TRUE(eventually([&] {
    system.pass(seconds(10));
    nudge();
    return record(job).runs >= 20;
  }));
  EXPECT_TRUE(becomes(job, "queued"));
  EXPECT_EQ(record(job).reason, "could not be started: no space left on device");
  engine->refuse_starts("");
  EXPECT_TRUE(eventually([&] {
    system.pass(seconds(10));
    nudge();
    return !engine->log().empty();
  }));
  engine->report(Kind::started, record(job).run());
  ASSERT_TRUE(becomes(job, "running"));
  EXPECT_EQ(record(job).reason, "");
}

TEST_F(YardmasterTest, AJobMayEndWhileNothingIsDecided) {
  const JobNumber running = submit(spec(2));
  run(running);
  engine->refuse_starts("no space left on device");
  const JobNumber waits = submit(spec());
  EXPECT_TRUE(eventually([&] { return record(waits).runs >= 1; }));
  engine->report(Kind::exited, {running, 1}, 3);
  ASSERT_TRUE(becomes(running, "failed"));
  engine->refuse_starts("");
  EXPECT_TRUE(eventually([&] {
    system.pass(seconds(1));
    nudge();
    return engine->was_told(fmt::format("start {}.{}", waits, record(waits).runs));
  }));
}

TEST_F(YardmasterTest, TheClockMayBeSetBack) {
  const JobNumber job = submit(spec());
  run(job);
  const Time before = record(job).submitted;
  system.set_wall_clock_by(Duration{-hours(5).us});
  engine->report(Kind::exited, {job, 1}, 0);
  EXPECT_TRUE(becomes(job, "done"));
  begin();
  const JobNumber next = submit(spec());
  run(next);
  engine->report(Kind::exited, {next, 1}, 0);
  ASSERT_TRUE(becomes(next, "done"));
  EXPECT_LT(record(next).submitted, before) << "it is an earlier hour now";
  for (const JobNumber each : {job, next}) {
    EXPECT_GE(record(each).life.state.done.us, 0);
    EXPECT_LT(record(each).life.state.done, minutes(1)) << "no hour has passed for it";
  }
}

TEST_F(YardmasterTest, OneThatIsCancelledBeforeItCouldStartDoesNotStart) {
  const JobNumber batch = submit(spec(4));
  run(batch);
  const JobNumber trial = submit(spec(4, JobClass::trial));
  ASSERT_TRUE(told("stop 1.1"));
  // The room is made while nothing may be decided, and the one it is for is cancelled.
  engine->refuse_starts("no space left on device");
  engine->report(Kind::exited, {batch, 1}, 143);
  ASSERT_TRUE(eventually([&] { return record(trial).runs == 1; }));
  ASSERT_TRUE(master->cancel(kAda, {trial}));
  EXPECT_TRUE(becomes(trial, "cancelled"));
  engine->refuse_starts("");
  EXPECT_TRUE(eventually([&] {
    system.pass(seconds(5));
    nudge();
    return engine->was_told("start 1.2");
  }));
  EXPECT_FALSE(engine->was_told("start 2.2"));
}

TEST_F(YardmasterTest, ACancellationThatWasCutOffIsCompleted) {
  const JobNumber first = submit(spec(4)), second = submit(spec(4));
  JobSpec later = spec();
  later.after = {second};
  const JobNumber third = submit(later);
  run(first);
  JobRecord cut = *journal->find(second).value();
  cut.ending = Ending::by_owner;
  cut.reason = "cancelled by ada";
  master.reset();
  JournalChange change;
  change.changed = {&cut};
  ASSERT_TRUE(journal->commit(change));
  begin();
  EXPECT_TRUE(becomes(second, "cancelled"));
  EXPECT_TRUE(becomes(third, "cancelled")) << "it does not wait for one that is gone";
}

TEST_F(YardmasterTest, ARunWhoseGpusAreGoneEndsFirstAlsoAfterASecondRestart) {
  const JobNumber small = submit(spec(1)), large = submit(spec(3));
  run(small);
  run(large);
  begin("1x2xV100");
  begin("1x2xV100");
  EXPECT_TRUE(engine->was_told("adopt 2.1"));
  EXPECT_TRUE(told("stop 2.1"));
  EXPECT_FALSE(engine->was_told("start 2.2"));
  engine->report(Kind::exited, {large, 1}, 143);
  // What does not fit any more waits aside, and keeps nobody from starting.
  ASSERT_TRUE(eventually([&] { return master->why(kAda, large)->reason.token == "misfit"; }));
  const JobNumber next = submit(spec(1));
  EXPECT_TRUE(told("start 3.1"));
  begin();
  EXPECT_TRUE(becomes(large, "queued")) << "there is room for it again";
  EXPECT_EQ(state(small), "running");
  (void)next;
}

TEST_F(YardmasterTest, WhatEndedWhileNobodyWatchedHasItsTime) {
  JobSpec limited = spec();
  limited.time = minutes(10);
  const JobNumber job = submit(limited);
  run(job);
  const Time started = record(job).life.state.since;
  system.pass(hours(1));
  system.set_wall_clock_by(hours(1));
  begin();
  RunReport report;
  report.kind = Kind::exited, report.id = {job, 1};
  report.at = started + minutes(2);
  engine->report(report);
  ASSERT_TRUE(eventually([&] { return record(job).has_ended(); }));
  // Either order of report and time limit is possible here, but never both.
  std::string ends;
  for (const LiveEvent& event : master->events(kAda, 0, {}).events)
    if (event.kind == "done" || event.kind == "failed" || event.kind == "cancelled")
      ends += event.kind + " ";
  EXPECT_TRUE(ends == "done " || ends == "failed ") << ends;
  const double ran_s = record(job).life.state.done.seconds();
  EXPECT_TRUE(ends == "failed " || std::abs(ran_s - 120) < 1) << ran_s;
}

TEST_F(YardmasterTest, AnotherPolicyDoesNotForgetWhoWasToStart) {
  const JobNumber batch = submit(spec(4));
  run(batch);
  const JobNumber trial = submit(spec(4, JobClass::trial));
  ASSERT_TRUE(told("stop 1.1"));
  engine->report(Kind::exited, {batch, 1}, 143);
  ASSERT_TRUE(master->set_policy(kOperator, {"fifo", {}}));
  run(trial);
}

/// Each waits for the one before it: the end of the first is that of all, however many there are.
TEST_F(YardmasterTest, ALongChainOfJobsIsCancelledWithItsFirst) {
  constexpr JobNumber kJobs = 50'000;  // more than a stack has room for
  master.reset();
  std::vector<JobRecord> chain(kJobs);
  JournalChange change;
  for (JobNumber number = 1; number <= kJobs; ++number) {
    JobRecord& job = chain[static_cast<std::size_t>(number - 1)];
    job.number = number;
    job.owner = kAda;
    job.spec = spec(4);
    if (number > 1) job.spec.after = {number - 1};
    change.submitted.push_back(&job);
  }
  ASSERT_TRUE(journal->commit(change));
  begin();
  ASSERT_TRUE(told("start 1.1"));
  EXPECT_EQ(master->job(kAda, kJobs)->waits_by, WaitsBy::dependency);
  ASSERT_TRUE(master->cancel(kAda, {1}));
  ASSERT_TRUE(told("stop 1.1"));
  engine->report(Kind::exited, {1, 1}, 143);
  EXPECT_TRUE(becomes(kJobs, "cancelled"));
  EXPECT_EQ(record(kJobs).reason,
            fmt::format("job {}, which it waits for, is not done", kJobs - 1));
  EXPECT_EQ(master->cluster(kAda)->queued, 0U);
}

/// As the journal called it up to its format 2.
TEST_F(YardmasterTest, AMachineThatWasDrainedIsClosed) {
  master.reset();
  JournalChange change;
  change.settings = {{"machine/r0m0", "drained"}};
  ASSERT_TRUE(journal->commit(change));
  begin();
  EXPECT_EQ(master->cluster(kAda)->machines[0].state, "closed");
  ASSERT_TRUE(master->open_machine(kOperator, "r0m0"));
  begin();
  EXPECT_EQ(master->cluster(kAda)->machines[0].state, "up");
}

/// The yard's ids have 32 bits, which would not hold them.
TEST_F(YardmasterTest, NumbersBeyond32BitsArePausedAndTakenUpAsOthersAre) {
  constexpr JobNumber kFirst = (JobNumber{1} << 32) + 5;
  master.reset();
  JobRecord before;
  before.number = kFirst;
  before.owner = kAda;
  before.spec = spec(4);
  before.spec.name = "first";
  JournalChange change;
  change.submitted = {&before};
  ASSERT_TRUE(journal->commit(change));
  begin();
  run(kFirst);
  const JobNumber trial = submit(spec(4, JobClass::trial));
  EXPECT_EQ(trial, kFirst + 1);
  ASSERT_TRUE(told(fmt::format("stop {}.1", kFirst)));
  ASSERT_TRUE(becomes(kFirst, "draining"));
  EXPECT_EQ(record(kFirst).life.room_for, trial);
  begin();
  EXPECT_EQ(state(trial), "reserved");
  engine->report(Kind::exited, {kFirst, 1}, 143);
  run(trial);
  EXPECT_EQ(record(kFirst).life.yielded_to, std::vector<JobNumber>{trial});
  begin();
  EXPECT_EQ(record(kFirst).life.yielded_to, std::vector<JobNumber>{trial});
  engine->report(Kind::exited, {trial, 1}, 0);
  run(kFirst, 2);
}

}  // namespace
}  // namespace trainyard
