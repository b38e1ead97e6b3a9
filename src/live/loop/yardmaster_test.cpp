#include "live/loop/yardmaster.h"

#include <gtest/gtest.h>

#include "live/loop/yardmaster_fixture.h"

namespace trainyard {
namespace {

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

TEST_F(YardmasterTest, AnExclusiveJobHasTheWholeMachine) {
  const JobNumber small = submit(spec());
  run(small);
  JobSpec whole = spec();
  whole.exclusive = true;
  whole.workers = 2;
  whole.per_worker.milli_cpus = 1000;
  const JobNumber job = submit(whole);
  EXPECT_EQ(record(job).spec.per_worker.gpus, 2);
  engine->report(Kind::exited, {small, 1}, 0);
  run(job);
  EXPECT_EQ(engine->launch({job, 1}).workers[1].gpus, (std::vector<std::int32_t>{2, 3}));
  EXPECT_EQ(engine->launch({job, 1}).per_worker.milli_cpus, 24'000) << "all of it is the job's";
  whole.workers = 3;
  EXPECT_EQ(master->submit(kAda, whole).error().message,
            "this job could never run here: it asks for a whole machine, and no machine has GPUs "
            "that 3 workers can share evenly");
}

TEST_F(YardmasterTest, AConstraintThatTheMachineDoesNotMeetIsRefusedWithWhatThereIs) {
  JobSpec job = spec();
  job.constraint = "v100|h100";
  run(submit(job));
  job.constraint = "h100";
  const auto refused = master->submit(kAda, job);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, Refusal::Kind::invalid);
  EXPECT_NE(refused.error().message.find("asks for a machine with 'h100', and none has that: "),
            std::string::npos);
  EXPECT_NE(refused.error().message.find("r0m0 has v100"), std::string::npos);
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
  engine->report(Kind::exited, {batch, 1}, 143);
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
    engine->report(Kind::started, {job, n});
    engine->report(Kind::lost, {job, n});
  }
  EXPECT_TRUE(becomes(job, "failed"));
  EXPECT_THAT(record(job).reason, testing::HasSubstr("came back 11 times within seconds"));
}

TEST_F(YardmasterTest, OfAnElasticJobEveryWorkerThatItMayHaveHadCanBeRead) {
  JobSpec elastic = spec();
  elastic.max_workers = 3;
  const JobNumber job = submit(elastic);
  run(job);
  EXPECT_TRUE(master->logs(kAda, job, 2, 0, 0));
  EXPECT_EQ(master->logs(kAda, job, 3, 0, 0).error().message,
            "there is no worker 3: job 1 has the workers 0 to 2");
}

TEST_F(YardmasterTest, CancellingWaitsForTheProcessesToEnd) {
  const JobNumber first = submit(spec(4)), second = submit(spec(4));
  run(first);
  ASSERT_TRUE(master->cancel(kAda, {first}));
  ASSERT_TRUE(told("stop 1.1"));
  EXPECT_FALSE(engine->was_told("start 2.1")) << "its GPUs are still in use";
  engine->report(Kind::exited, {first, 1}, 0);
  EXPECT_TRUE(becomes(first, "cancelled"));
  EXPECT_EQ(record(first).reason, "cancelled by ada");
  run(second);
  const auto again = master->cancel(kAda, {first});
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().kind, Refusal::Kind::conflict);
  EXPECT_EQ(again.error().message,
            "job 1 has ended already (cancelled), so it cannot be cancelled");
}

TEST_F(YardmasterTest, OneWhoWaitsIsCancelledAtOnce) {
  submit(spec(4));
  const JobNumber waiting = submit(spec(4));
  ASSERT_TRUE(master->cancel(kAda, {waiting}));
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
  EXPECT_EQ(why->category, WaitsBy::dependency);
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

/// As in Slurm: a job that saves before its limit and asks to be run again has a new one.
TEST_F(YardmasterTest, TheLimitIsThatOfEachRun) {
  JobSpec limited = spec();
  limited.time = minutes(10);
  const JobNumber job = submit(limited);
  for (std::uint32_t number = 1; number <= 3; ++number) {
    run(job, number);
    system.pass(minutes(9));
    nudge();
    EXPECT_FALSE(engine->was_told(fmt::format("stop {}.{}", job, number)));
    engine->report(asks_again({job, number}));
  }
  run(job, 4);
  system.pass(minutes(11));
  nudge();
  EXPECT_TRUE(told("stop 1.4"));
}

TEST_F(YardmasterTest, AJobThatAskedToRunAgainIsExpectedToTakeAsLongOnceMore) {
  JobSpec limited = spec(4);
  limited.time = minutes(10);
  const JobNumber job = submit(limited);
  run(job);
  system.pass(minutes(9));
  engine->report(asks_again({job, 1}));
  run(job, 2);
  const JobNumber waiting = submit(spec(4));
  const auto expected_wait = [&] {
    const auto start = master->why(kAda, waiting)->reason.expected_start;
    return start ? (*start - record(waiting).submitted).seconds() : -1;
  };
  EXPECT_NEAR(expected_wait(), 600, 60);
  begin();
  EXPECT_NEAR(expected_wait(), 600, 60) << "also after a restart of the daemon";
}

TEST_F(YardmasterTest, WhatAsksToRunAgainAtItsLimitIsBelieved) {
  JobSpec limited = spec();
  limited.time = minutes(10);
  const JobNumber job = submit(limited);
  run(job);
  system.pass(minutes(11));
  nudge();
  ASSERT_TRUE(told("stop 1.1"));
  engine->report(asks_again({job, 1}));
  run(job, 2);
  EXPECT_EQ(record(job).reason, "");
  system.pass(minutes(9));
  nudge();
  EXPECT_FALSE(engine->was_told("stop 1.2"));
  // But not when it was cancelled meanwhile.
  system.pass(minutes(2));
  nudge();
  ASSERT_TRUE(told("stop 1.2"));
  ASSERT_TRUE(master->cancel(kAda, {job}));
  engine->report(asks_again({job, 2}));
  ASSERT_TRUE(becomes(job, "cancelled"));
  EXPECT_EQ(record(job).reason, "cancelled by ada");
}

/// The supervisor sends the signal ahead of the limit; at the limit only SIGTERM is left.
TEST_F(YardmasterTest, WhatWasAskedBeforeItsLimitIsNotAskedAgainAtIt) {
  JobSpec limited = spec();
  limited.time = minutes(10);
  limited.grace = minutes(2);
  limited.signal = *parse_stop_signal("USR1@90");
  const JobNumber long_enough = submit(limited);
  limited.time = minutes(1);
  const JobNumber too_short = submit(limited);
  run(long_enough);
  run(too_short);
  system.pass(minutes(11));
  nudge();
  ASSERT_TRUE(told("stop 1.1"));
  ASSERT_TRUE(told("stop 2.1"));
  EXPECT_EQ(engine->last_stop({long_enough, 1}).signal.number, 0);
  EXPECT_EQ(engine->last_stop({too_short, 1}).signal.number, SIGUSR1);
  EXPECT_EQ(engine->last_stop({too_short, 1}).grace, seconds(30));
}

TEST_F(YardmasterTest, WhatNoMachineCouldRunIsRefused) {
  const auto refused = master->submit(kAda, spec(5));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, Refusal::Kind::invalid);
  EXPECT_THAT(refused.error().message, testing::HasSubstr("could never run here"));
}

TEST_F(YardmasterTest, AUserHandlesWhatIsTheirs) {
  const JobNumber job = submit(spec(), kAda);
  EXPECT_EQ(master->cancel(kBob, {job}).error().kind, Refusal::Kind::forbidden);
  EXPECT_EQ(master->cancel(kBob, {99}).error().kind, Refusal::Kind::not_found);
  EXPECT_EQ(master->logs(kBob, job, 0, 0, 0).error().kind, Refusal::Kind::forbidden);
  // The name alone does not do: it is the kernel's number that counts.
  EXPECT_EQ(master->cancel(person("ada", 1002), {job}).error().kind, Refusal::Kind::forbidden);
  JobSpec after = spec();
  after.after = {job};
  EXPECT_EQ(master->submit(kBob, after).error().kind, Refusal::Kind::invalid);
  EXPECT_TRUE(master->cancel(kOperator, {job}));
  const Identity viewer = person("eve", 1003, Role::viewer);
  EXPECT_EQ(master->submit(viewer, spec()).error().kind, Refusal::Kind::forbidden);
  EXPECT_EQ(master->close_machine(kAda, "r0m0").error().kind, Refusal::Kind::forbidden);
  EXPECT_EQ(master->set_policy(kAda, {"fifo", {}}).error().kind, Refusal::Kind::forbidden);
}

TEST_F(YardmasterTest, OfOthersAUserSeesWhatStandsInTheQueue) {
  JobSpec secret = spec(4);
  secret.name = "resnet";
  secret.command = {"train", "--key=secret"};
  secret.directory = "/secret";
  secret.model = "secret";
  const JobNumber first = submit(secret, kAda), second = submit(secret, kAda);
  run(first);
  const JobRecord seen = *master->job(kBob, first);
  EXPECT_TRUE(seen.in_part);
  EXPECT_EQ(seen.owner.user, "ada");
  EXPECT_EQ(seen.spec.name, "resnet");
  EXPECT_EQ(seen.spec.per_worker.gpus, 4);
  EXPECT_EQ(seen.phase(), Phase::running);
  EXPECT_EQ(seen.life.room.gpus, (decltype(seen.life.room.gpus){{"0", "1", "2", "3"}}));
  EXPECT_TRUE(seen.spec.command.empty());
  EXPECT_EQ(seen.spec.directory, JobSpec{}.directory);
  EXPECT_EQ(seen.spec.model, "");
  EXPECT_EQ(seen.runs, 0U);
  const auto page = *master->jobs(kBob, {});
  ASSERT_EQ(page.jobs.size(), 2U);
  EXPECT_TRUE(page.jobs[0].in_part && page.jobs[1].in_part);
  EXPECT_EQ(page.jobs[0].waits_by, WaitsBy::resources);
  const WhyAnswer why = *master->why(kBob, second);
  EXPECT_EQ(why.reason.token, "resources");
  EXPECT_EQ(why.advice, "") << "it is not Bob who can do anything about it";
  EXPECT_NE(master->why(kAda, second)->advice, "");
  JobSpec later = secret;
  later.after = {second};
  EXPECT_EQ(master->why(kBob, submit(later, kAda))->advice, "");
  for (const LiveEvent& event : master->events(kBob, 0, {}).events)
    EXPECT_EQ(event.details, event.kind == "submitted" ? R"({"name":"resnet"})" : "{}");
  EXPECT_EQ(master->cluster(kBob)->machines[0].by_gpu, std::vector<JobNumber>(4, first));
}

TEST_F(YardmasterTest, WhereJobsArePrivateOthersDoNotExist) {
  begin("1x4xV100", true);
  const JobNumber job = submit(spec(2), kAda);
  run(job);
  const auto missing = [&](const auto& answer) {
    return !answer && answer.error().kind == Refusal::Kind::not_found &&
           answer.error().message == fmt::format("there is no job {} of yours", job);
  };
  EXPECT_TRUE(missing(master->cancel(kBob, {job})));
  EXPECT_TRUE(missing(master->job(kBob, job)));
  EXPECT_TRUE(missing(master->why(kBob, job)));
  EXPECT_TRUE(missing(master->logs(kBob, job, 0, 0, 0)));
  EXPECT_TRUE(missing(master->cancel(person("ada", 1002), {job})));
  EXPECT_TRUE(master->jobs(kBob, {})->jobs.empty());
  JobFilter of_ada;
  of_ada.user = "ada";
  EXPECT_TRUE(master->jobs(kBob, of_ada)->jobs.empty());
  EXPECT_EQ(master->jobs(kOperator, of_ada)->jobs.size(), 1U);
  EXPECT_TRUE(master->events(kBob, 0, {}).events.empty());
  EXPECT_FALSE(master->events(kAda, 0, {}).events.empty());
  const auto by_gpu = [&](const Identity& who) { return master->cluster(who)->machines[0].by_gpu; };
  EXPECT_EQ(by_gpu(kBob), (std::vector<JobNumber>{kHidden, kHidden, 0, 0}));
  EXPECT_EQ(by_gpu(kAda), (std::vector<JobNumber>{job, job, 0, 0}));
}

TEST_F(YardmasterTest, TheEnvironmentIsShownToNobody) {
  JobSpec secret = spec();
  secret.environment["TOKEN"] = "secret";
  const JobNumber job = submit(secret);
  EXPECT_TRUE(master->job(kAda, job)->spec.environment.empty());
  EXPECT_TRUE(master->jobs(kOperator, {})->jobs.front().spec.environment.empty());
}

TEST_F(YardmasterTest, AClosedMachineFinishesWhatItHas) {
  const JobNumber first = submit(spec());
  run(first);
  ASSERT_TRUE(master->close_machine(kOperator, "r0m0"));
  EXPECT_EQ(master->cluster(kAda)->machines[0].state, "closed");
  const JobNumber second = submit(spec());
  const auto why = master->why(kAda, second);
  EXPECT_EQ(why->category, WaitsBy::held);
  EXPECT_EQ(why->reason.token, "closed");
  begin();  // and it is still closed after a restart
  EXPECT_EQ(state(second), "queued");
  ASSERT_TRUE(master->open_machine(kOperator, "r0m0"));
  EXPECT_TRUE(told("start 2.1"));
  EXPECT_EQ(master->close_machine(kOperator, "r9m9").error().kind, Refusal::Kind::not_found);
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

TEST_F(YardmasterTest, ByDefaultASmallJobStartsBesideFreeGpus) {
  given = {"live", {}};
  begin();
  run(submit(spec(1)));
  const JobNumber large = submit(spec(4)), small = submit(spec(1));
  EXPECT_TRUE(told(fmt::format("start {}.1", small)));
  EXPECT_EQ(state(large), "queued");
  const auto events = master->events(kAda, 0, {}).events;
  const auto start = std::ranges::find_if(events, [&](const LiveEvent& event) {
    return event.job == small && event.kind == "starting";
  });
  ASSERT_NE(start, events.end());
  EXPECT_NE(start->details.find(fmt::format(R"("passes":{})", large)), std::string::npos)
      << start->details;
}

TEST_F(YardmasterTest, WhyAdvisesOnlyWhatHelps) {
  given = {"live", {}};
  begin();
  run(submit(spec(4)));
  const JobNumber waits = submit(spec(4));
  const auto advice = [&] { return master->why(kAda, waits)->advice; };
  EXPECT_EQ(advice().find("--time"), std::string::npos) << advice();
  EXPECT_NE(advice().find("--class trial"), std::string::npos) << advice();
  ASSERT_TRUE(master->set_policy(kOperator, {"srtf", {}}));
  EXPECT_NE(advice().find("--time"), std::string::npos) << advice();
  EXPECT_EQ(advice().find("--class"), std::string::npos) << advice();
  ASSERT_TRUE(master->set_policy(kOperator, {"fifo", {}}));
  EXPECT_EQ(advice(), "wait, or ask for less; trainyard nodes shows what is free");
}

TEST_F(YardmasterTest, WhyExpectsAStartWhereAllHaveSaidHowLongTheyTake) {
  JobSpec timed = spec(4);
  timed.time = hours(2);
  run(submit(timed));
  const JobNumber second = submit(timed), silent = submit(spec(4)), last = submit(timed);
  const auto wait_of = [&](JobNumber job) {
    const auto start = master->why(kAda, job)->reason.expected_start;
    return start ? (*start - record(job).submitted).seconds() / 3600 : -1;
  };
  EXPECT_NEAR(wait_of(second), 2, 0.01);
  EXPECT_NEAR(wait_of(silent), 4, 0.01);
  EXPECT_EQ(wait_of(last), -1) << "behind one that has not";
}

TEST_F(YardmasterTest, APolicyThatIsSetKeepsWhatTheDaemonWasGiven) {
  using Settings = std::vector<std::string>;
  given = {"fitgpp", {"yard.min_run=0", "preempt.s=2", "place=best-fit"}};
  begin();
  ASSERT_TRUE(master->set_policy(kOperator, {"las", {"order.thresholds=3h"}}));
  EXPECT_EQ(master->policy(kAda)->settings, (Settings{"yard.min_run=0", "order.thresholds=3h"}))
      << "by-level has no s, and the place is las's";
  begin();
  EXPECT_EQ(master->policy(kAda)->settings, (Settings{"yard.min_run=0", "order.thresholds=3h"}));
  given.settings = {"yard.min_run=7s", "queue.patience=3d"};
  begin();
  EXPECT_EQ(master->policy(kAda)->settings,
            (Settings{"yard.min_run=7s", "queue.patience=3d", "order.thresholds=3h"}))
      << "as it was given this time";
  ASSERT_TRUE(master->set_policy(kOperator, {"fitgpp", {"yard.min_run=9s"}}));
  EXPECT_EQ(master->policy(kAda)->settings, (Settings{"queue.patience=3d", "yard.min_run=9s"}));
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
    for (const LiveEvent& event : master->events(kAda, 0, {}).events) text += event.kind + " ";
    return text;
  };
  EXPECT_EQ(kinds(), "submitted queued starting running done ");
  begin();
  EXPECT_EQ(kinds(), "submitted queued starting running done ");
  EXPECT_EQ(master->events(kAda, 4, {}).events.size(), 1U);
  EXPECT_TRUE(master->events(kAda, 5, {}).events.empty());
}

TEST_F(YardmasterTest, AJobThatEndsAtOnceHasDoneSomething) {
  const JobNumber job = submit(spec());
  run(job);
  RunReport report;  // by a clock that was read before we heard that it runs
  report.kind = Kind::exited, report.id = {job, 1};
  report.at = record(job).life.state.since - microseconds(500);
  engine->report(report);
  ASSERT_TRUE(becomes(job, "done"));
  EXPECT_GT(record(job).life.state.done.us, 0);
  EXPECT_THAT(history(kAda), testing::HasSubstr("1,ada,"));
}

TEST_F(YardmasterTest, OneDependencyNamedTwiceIsOne) {
  const JobNumber first = submit(spec());
  JobSpec later = spec();
  later.after = {first, first};
  const JobNumber second = submit(later);
  run(first);
  engine->report(Kind::exited, {first, 1}, 0);
  run(second);
  engine->report(Kind::exited, {second, 1}, 0);
  ASSERT_TRUE(becomes(second, "done"));
  EXPECT_FALSE(engine->was_told("start 2.2"));
}

TEST_F(YardmasterTest, WhatIsAskedForTogetherDoesNotCollide) {
  for (int round = 0; round < 50; ++round) {
    const JobNumber first = submit(spec(4));
    JobSpec later = spec();
    later.after = {first};
    const JobNumber second = submit(later);
    std::thread one([&] { (void)master->cancel(kAda, {first}); });
    std::thread two([&] { (void)master->cancel(kAda, {second}); });
    const auto third = master->submit(kAda, later);
    one.join();
    two.join();
    if (engine->was_told(fmt::format("start {}.1", first)))
      engine->report(Kind::exited, {first, 1}, 0);
    EXPECT_TRUE(becomes(first, "cancelled"));
    EXPECT_TRUE(becomes(second, "cancelled"));
    EXPECT_TRUE(!third || becomes(third->number, "cancelled")) << "held for ever";
  }
}

TEST_F(YardmasterTest, OthersEventsDoNotKeepOneFromItsOwn) {
  for (int i = 0; i < 300; ++i) submit(spec(4), kBob);
  const JobNumber job = submit(spec(4), kAda);
  begin("1x4xV100", true);
  const auto events = master->events(kAda, 0, {}).events;
  ASSERT_FALSE(events.empty());
  EXPECT_EQ(events.front().job, job);
}

}  // namespace
}  // namespace trainyard
