#include "live/yardmaster.h"

#include <gtest/gtest.h>

#include "live/testing.h"

namespace trainyard {
namespace {

using Kind = RunReport::Kind;

Identity person(const std::string& name, uid_t uid, Role role = Role::user) {
  return {name, uid, uid, role};
}

const Identity kAda = person("ada", 1001), kBob = person("bob", 1002);
const Identity kOperator = person("root", 0, Role::operator_);

JobSpec spec(std::int32_t gpus = 1, JobClass job_class = JobClass::batch) {
  JobSpec made;
  made.command = {"train"};
  made.per_worker.gpus = gpus;
  made.job_class = job_class;
  return made;
}

/// A daemon without network and processes, that can be ended and begun again.
class YardmasterTest : public testing::Test {
 protected:
  YardmasterTest() { begin(); }

  void begin(const std::string& cluster = "1x4xV100") {
    master.reset();
    engine = std::make_unique<HandEngine>(cluster);
    journal.reset();
    auto opened = Journal::open(system, directory.path() + "/journal.db");
    ASSERT_TRUE(opened) << opened.error().message;
    journal = std::move(*opened);
    YardmasterOptions options;
    options.policy = {"fitgpp", {"yard.min_run=0"}};
    auto started = Yardmaster::start(system, *journal, *engine, options);
    ASSERT_TRUE(started) << started.error().message;
    master = std::move(*started);
  }

  JobNumber submit(const JobSpec& job, const Identity& who = kAda) {
    const auto done = master->submit(who, job);
    EXPECT_TRUE(done) << done.error().message;
    return done ? done->number : 0;
  }

  std::string state(JobNumber job) {
    const auto record = master->job(kOperator, job);
    return record ? std::string(state_name(record->phase())) : record.error().message;
  }
  JobRecord record(JobNumber job) { return *master->job(kOperator, job); }
  bool becomes(JobNumber job, const std::string& wanted) {
    return eventually([&] { return state(job) == wanted; });
  }
  bool told(const std::string& line) {
    return eventually([&] { return engine->was_told(line); });
  }
  /// Something happens, so that the daemon looks at the clock that the test has moved.
  void nudge() { (void)master->cancel(kOperator, 1'000'000); }
  /// Has the job running.
  void run(JobNumber job, std::uint32_t number = 1) {
    ASSERT_TRUE(told(fmt::format("start {}.{}", job, number)));
    engine->report(Kind::started, {job, number});
    ASSERT_TRUE(becomes(job, "running"));
  }

  TemporaryDirectory directory;
  HandSystem system;
  std::unique_ptr<HandEngine> engine;
  std::unique_ptr<Journal> journal;
  std::unique_ptr<Yardmaster> master;
};

TEST_F(YardmasterTest, AJobIsStartedRunsAndIsDone) {
  const JobNumber job = submit(spec(2));
  EXPECT_EQ(job, 1);
  run(job);
  const Launch launch = engine->launch({job, 1});
  ASSERT_EQ(launch.workers.size(), 1U);
  EXPECT_EQ(launch.workers[0].gpus, (std::vector<std::int32_t>{0, 1}));
  EXPECT_EQ(launch.owner.uid, kAda.uid);
  EXPECT_EQ(launch.restarts, 0U);
  EXPECT_EQ(launch.per_worker.milli_cpus, 24'000) << "half of the machine's";
  engine->report(Kind::exited, {job, 1}, 0);
  EXPECT_TRUE(becomes(job, "done"));
  EXPECT_TRUE(told("forget 1.1"));
  EXPECT_EQ(record(job).exit_status, 0);
}

TEST_F(YardmasterTest, AFailureHasAReason) {
  const JobNumber job = submit(spec());
  run(job);
  engine->report(Kind::exited, {job, 1}, 3);
  ASSERT_TRUE(becomes(job, "failed"));
  EXPECT_EQ(record(job).reason, "exit status 3");
}

TEST_F(YardmasterTest, ATrialJobTakesTheGpusOfABatchJobWhichComesBack) {
  const JobNumber batch = submit(spec(4));
  run(batch);
  const JobNumber trial = submit(spec(4, JobClass::trial), kBob);
  ASSERT_TRUE(told("stop 1.1"));
  EXPECT_TRUE(becomes(batch, "draining"));
  EXPECT_EQ(master->why(kBob, trial)->reason.token, "room-being-made");
  // It exits with 0 because it has saved: it is paused all the same.
  engine->report(Kind::exited, {batch, 1}, 0);
  ASSERT_TRUE(becomes(batch, "queued"));
  run(trial);
  engine->report(Kind::exited, {trial, 1}, 0);
  run(batch, 2);
  EXPECT_EQ(engine->launch({batch, 2}).restarts, 1U);
  EXPECT_EQ(record(batch).life.state.pauses, 1U);
}

TEST_F(YardmasterTest, WhatAsksToRunAgainIsBelieved) {
  const JobNumber job = submit(spec());
  run(job);
  RunReport report;
  report.kind = Kind::exited, report.id = {job, 1}, report.exit_status = 255;
  report.asked_requeue = true;
  engine->report(report);
  run(job, 2);
  EXPECT_EQ(engine->launch({job, 2}).restarts, 1U);
}

TEST_F(YardmasterTest, WhatOnlyEverComesBackIsGivenUp) {
  const JobNumber job = submit(spec());
  for (std::uint32_t n = 1; state(job) != "failed" && n < 50; ++n) {
    ASSERT_TRUE(eventually([&] {
      system.pass(seconds(1));
      nudge();
      return engine->was_told(fmt::format("start {}.{}", job, n)) || state(job) == "failed";
    }));
    engine->report(Kind::lost, {job, n});
  }
  EXPECT_TRUE(becomes(job, "failed"));
  EXPECT_THAT(record(job).reason, testing::HasSubstr("came back 11 times within seconds"));
}

TEST_F(YardmasterTest, CancellingWaitsForTheProcessesToEnd) {
  const JobNumber first = submit(spec(4)), second = submit(spec(4));
  run(first);
  ASSERT_TRUE(master->cancel(kAda, first));
  ASSERT_TRUE(told("stop 1.1"));
  EXPECT_FALSE(engine->was_told("start 2.1")) << "its GPUs are still in use";
  engine->report(Kind::exited, {first, 1}, 0);
  EXPECT_TRUE(becomes(first, "cancelled"));
  EXPECT_EQ(record(first).reason, "cancelled by ada");
  run(second);
  ASSERT_TRUE(master->cancel(kAda, first)) << "it has ended: nothing happens";
}

TEST_F(YardmasterTest, OneWhoWaitsIsCancelledAtOnce) {
  submit(spec(4));
  const JobNumber waiting = submit(spec(4));
  ASSERT_TRUE(master->cancel(kAda, waiting));
  EXPECT_EQ(state(waiting), "cancelled");
}

TEST_F(YardmasterTest, AJobStartsAfterThoseItWaitsFor) {
  const JobNumber first = submit(spec());
  JobSpec later = spec();
  later.after = {first};
  const JobNumber second = submit(later);
  later.after = {second};
  const JobNumber third = submit(later);
  EXPECT_EQ(state(second), "held");
  const auto why = master->why(kAda, second);
  ASSERT_TRUE(why);
  EXPECT_EQ(why->category, "dependency");
  EXPECT_EQ(why->reason.sentence, "starts after job 1 is done");
  run(first);
  engine->report(Kind::exited, {first, 1}, 0);
  run(second);
  engine->report(Kind::exited, {second, 1}, 1);
  ASSERT_TRUE(becomes(third, "cancelled"));
  EXPECT_EQ(record(third).reason, "job 2, which it waits for, is not done");
  later.after = {second};
  EXPECT_EQ(master->submit(kAda, later).error().kind, Refusal::Kind::conflict);
  later.after = {99};
  EXPECT_EQ(master->submit(kAda, later).error().message, "there is no job 99 of yours to wait for");
}

TEST_F(YardmasterTest, ItsTimeIsALimit) {
  JobSpec limited = spec();
  limited.time = minutes(10);
  const JobNumber job = submit(limited);
  run(job);
  system.pass(minutes(11));
  nudge();
  ASSERT_TRUE(told("stop 1.1"));
  engine->report(Kind::exited, {job, 1}, 0);
  ASSERT_TRUE(becomes(job, "failed"));
  EXPECT_EQ(record(job).reason, "time limit of 10m");
}

TEST_F(YardmasterTest, WhatNoMachineCouldRunIsRefused) {
  const auto refused = master->submit(kAda, spec(5));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, Refusal::Kind::invalid);
  EXPECT_THAT(refused.error().message, testing::HasSubstr("could never run here"));
}

TEST_F(YardmasterTest, AUserHandlesAndSeesWhatIsTheirs) {
  const JobNumber job = submit(spec(), kAda);
  EXPECT_EQ(master->cancel(kBob, job).error().kind, Refusal::Kind::not_found);
  EXPECT_EQ(master->job(kBob, job).error().kind, Refusal::Kind::not_found);
  EXPECT_EQ(master->why(kBob, job).error().kind, Refusal::Kind::not_found);
  EXPECT_EQ(master->logs(kBob, job, 0, 0, 0).error().kind, Refusal::Kind::not_found);
  EXPECT_TRUE(master->jobs(kBob, {})->jobs.empty());
  JobFilter of_ada;
  of_ada.user = "ada";
  EXPECT_TRUE(master->jobs(kBob, of_ada)->jobs.empty());
  EXPECT_EQ(master->jobs(kOperator, of_ada)->jobs.size(), 1U);
  EXPECT_TRUE(master->events(kBob, 0, {}).empty());
  EXPECT_FALSE(master->events(kAda, 0, {}).empty());
  // The name alone does not do: it is the kernel's number that counts.
  EXPECT_EQ(master->cancel(person("ada", 1002), job).error().kind, Refusal::Kind::not_found);
  JobSpec after = spec();
  after.after = {job};
  EXPECT_EQ(master->submit(kBob, after).error().kind, Refusal::Kind::invalid);
  EXPECT_TRUE(master->cancel(kOperator, job));
  const Identity viewer = person("eve", 1003, Role::viewer);
  EXPECT_EQ(master->submit(viewer, spec()).error().kind, Refusal::Kind::forbidden);
  EXPECT_EQ(master->drain(kAda, "r0m0").error().kind, Refusal::Kind::forbidden);
  EXPECT_EQ(master->set_policy(kAda, {"fifo", {}}).error().kind, Refusal::Kind::forbidden);
}

TEST_F(YardmasterTest, TheEnvironmentIsShownToNobody) {
  JobSpec secret = spec();
  secret.environment["TOKEN"] = "secret";
  const JobNumber job = submit(secret);
  EXPECT_TRUE(master->job(kAda, job)->spec.environment.empty());
  EXPECT_TRUE(master->jobs(kOperator, {})->jobs.front().spec.environment.empty());
}

TEST_F(YardmasterTest, ADrainedMachineFinishesWhatItHas) {
  const JobNumber first = submit(spec());
  run(first);
  ASSERT_TRUE(master->drain(kOperator, "r0m0"));
  EXPECT_EQ(master->cluster(kAda)->machines[0].state, "drained");
  const JobNumber second = submit(spec());
  const auto why = master->why(kAda, second);
  EXPECT_EQ(why->category, "held");
  EXPECT_EQ(why->reason.token, "drained");
  begin();  // and it is still drained after a restart
  EXPECT_EQ(state(second), "queued");
  ASSERT_TRUE(master->resume(kOperator, "r0m0"));
  EXPECT_TRUE(told("start 2.1"));
  EXPECT_EQ(master->drain(kOperator, "r9m9").error().kind, Refusal::Kind::not_found);
}

TEST_F(YardmasterTest, ThePolicyCanBeChangedUnderRunningJobs) {
  const JobNumber first = submit(spec(4));
  run(first);
  const JobNumber slow = submit(spec(4));
  JobSpec quick = spec(4);
  quick.time = minutes(1);
  const JobNumber fast = submit(quick);
  ASSERT_TRUE(master->set_policy(kOperator, {"sjf", {}}));
  EXPECT_EQ(master->policy(kAda)->policy, "sjf");
  EXPECT_EQ(master->why(kAda, fast)->reason.place, 1U);
  EXPECT_EQ(master->why(kAda, slow)->reason.place, 2U);
  EXPECT_EQ(master->set_policy(kOperator, {"sfj", {}}).error().kind, Refusal::Kind::invalid);
  begin();
  EXPECT_EQ(master->policy(kAda)->policy, "sjf");
}

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

TEST_F(YardmasterTest, OnASmallerMachineJobsWaitUntilTheirOldRunsHaveEnded) {
  const JobNumber job = submit(spec(1)), large = submit(spec(3));
  run(job);
  run(large);
  begin("1x2xV100");
  EXPECT_TRUE(engine->was_told("stop 1.1"));
  EXPECT_FALSE(engine->was_told("start 1.2"));
  engine->report(Kind::exited, {job, 1}, 143);
  EXPECT_TRUE(told("start 1.2"));
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
  system.heal();
  EXPECT_TRUE(becomes(running, "done"));
  EXPECT_TRUE(told("forget 1.1"));
  EXPECT_TRUE(master->counters().accepting);
  EXPECT_EQ(submit(spec()), 2) << "the refused one took no number";
}

TEST_F(YardmasterTest, WhatCannotBeStartedIsTriedAgain) {
  engine->refuse_starts("no space left on device");
  const JobNumber job = submit(spec());
  EXPECT_TRUE(eventually([&] { return record(job).runs >= 1; }));
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
  system.set_wall_clock_by(Duration{-hours(5).us});
  engine->report(Kind::exited, {job, 1}, 0);
  EXPECT_TRUE(becomes(job, "done"));
  begin();
  const JobNumber next = submit(spec());
  run(next);
  engine->report(Kind::exited, {next, 1}, 0);
  ASSERT_TRUE(becomes(next, "done"));
  EXPECT_GE(record(next).submitted, record(job).submitted);
  EXPECT_GE(record(next).life.state.done.us, 0);
}

TEST_F(YardmasterTest, ProgressIsKeptAndImprovesTheEstimate) {
  JobSpec named = spec();
  named.model = "ResNet50";
  const JobNumber job = submit(named);
  run(job);
  system.pass(minutes(1));
  RunReport report;
  report.kind = Kind::progress, report.id = {job, 1};
  report.progress.step = 10, report.progress.total = 100;
  report.progress.loss = 0.5, report.progress.save_s = 3;
  engine->report(report);
  ASSERT_TRUE(eventually([&] { return record(job).progress.has_value(); }));
  EXPECT_EQ(record(job).progress->step, 10);
  const JobNumber waiting = submit(spec(4));
  const auto why = master->why(kAda, waiting);
  ASSERT_TRUE(why->reason.expected_start);
  const Duration wait = *why->reason.expected_start - record(waiting).submitted;
  EXPECT_NEAR(wait.seconds(), 540, 60) << "a tenth took a minute, so nine are left";
}

TEST_F(YardmasterTest, EventsComeInOrderAndAreKept) {
  const JobNumber job = submit(spec());
  run(job);
  engine->report(Kind::exited, {job, 1}, 0);
  ASSERT_TRUE(becomes(job, "done"));
  const auto kinds = [&] {
    std::string text;
    for (const LiveEvent& event : master->events(kAda, 0, {})) text += event.kind + " ";
    return text;
  };
  EXPECT_EQ(kinds(), "submitted queued starting running done ");
  begin();
  EXPECT_EQ(kinds(), "submitted queued starting running done ");
  EXPECT_EQ(master->events(kAda, 4, {}).size(), 1U);
  EXPECT_TRUE(master->events(kAda, 5, {}).empty());
}

TEST_F(YardmasterTest, HistoryIsAWorkload) {
  const JobNumber job = submit(spec(2));
  run(job);
  system.pass(minutes(5));
  engine->report(Kind::exited, {job, 1}, 0);
  ASSERT_TRUE(becomes(job, "done"));
  const std::string csv = *master->history(kAda);
  EXPECT_THAT(csv, testing::HasSubstr("id,user,"));
  EXPECT_THAT(csv, testing::HasSubstr("1,ada,"));
  EXPECT_EQ(master->history(kBob)->find("ada"), std::string::npos);
}

}  // namespace
}  // namespace trainyard
