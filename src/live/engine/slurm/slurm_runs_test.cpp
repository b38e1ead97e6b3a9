// The engine against a Slurm in memory that forgets, is late, and has other hands in it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "live/engine/slurm/mark.h"
#include "live/engine/slurm/on_slurm.h"
#include "live/engine/slurm/testing.h"

namespace trainyard {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using Kind = RunReport::Kind;

constexpr Duration kMoment = seconds(1);

class SlurmRunsTest : public testing::Test, protected SlurmBench {
 protected:
  void TearDown() override { EXPECT_THAT(slurm.faults(), IsEmpty()); }

  std::vector<BirthReport> births(const std::vector<EngineReport>& reports) {
    std::vector<BirthReport> found;
    for (const EngineReport& report : reports)
      if (const auto* birth = std::get_if<BirthReport>(&report)) found.push_back(*birth);
    return found;
  }
  std::vector<RunReport> runs(const std::vector<EngineReport>& reports) {
    std::vector<RunReport> found;
    for (const EngineReport& report : reports)
      if (const auto* run = std::get_if<RunReport>(&report)) found.push_back(*run);
    return found;
  }
  /// The only one of this kind.
  RunReport only(const std::vector<EngineReport>& reports, Kind kind) {
    RunReport found;
    int count = 0;
    for (const RunReport& run : runs(reports))
      if (run.kind == kind) found = run, ++count;
    EXPECT_EQ(count, 1) << "of kind " << static_cast<int>(kind);
    return found;
  }
  bool has(const std::vector<EngineReport>& reports, Kind kind) {
    return std::ranges::any_of(runs(reports), [&](const RunReport& r) { return r.kind == kind; });
  }
  std::vector<JobNumber> jobs_with(const std::vector<EngineReport>& reports, Kind kind) {
    std::vector<JobNumber> found;
    for (const RunReport& run : runs(reports))
      if (run.kind == kind) found.push_back(run.id.job);
    return found;
  }
  /// A job of Slurm's that the yard knows by this number.
  std::string born(JobNumber number, std::int32_t nodes = 1, std::int32_t gpus = 2,
                   const MemoryScript& script = {}) {
    const std::string id = slurm.sbatch(nodes, gpus, script);
    const auto reported = births(pass(kMoment));
    EXPECT_EQ(reported.size(), 1U);
    if (reported.empty()) return id;
    engine->call(names_[number] = reported.front().name, number);
    pass(kMoment);
    return id;
  }
  Expected<void> start(RunId id, std::vector<std::uint32_t> machines, std::int32_t gpus = 2) {
    Launch launch;
    launch.id = id;
    launch.born_as = names_[id.job];
    launch.per_worker.gpus = gpus;
    for (const std::uint32_t machine : machines) launch.workers.push_back({MachineId{machine}, {}});
    return engine->start(launch);
  }
  /// ... which runs.
  std::string running(JobNumber number, std::uint32_t machine = 0,
                      const MemoryScript& script = {}) {
    const std::string id = born(number, 1, 2, script);
    EXPECT_TRUE(start({number, 1}, {machine}));
    EXPECT_TRUE(has(pass(kMoment), Kind::started));
    return id;
  }
  void stop(RunId id, Duration grace) {
    EXPECT_TRUE(engine->stop({.id = id, .signal = {}, .grace = grace}));
  }
  SlurmState state(const std::string& id) { return slurm.job(id)->state; }

  std::map<JobNumber, std::string> names_;
};

TEST_F(SlurmRunsTest, AHeldJobIsBornOnceAndIsHeldAgainstItsUserThen) {
  const std::string id = slurm.sbatch(2, 4, {}, "trainyard: class=trial grace=7");
  const auto reported = births(pass(kMoment));
  ASSERT_EQ(reported.size(), 1U);
  EXPECT_EQ(reported[0].spec.workers, 2);
  EXPECT_EQ(reported[0].spec.per_worker.gpus, 4);
  EXPECT_EQ(reported[0].spec.job_class, JobClass::trial);
  EXPECT_EQ(reported[0].spec.grace, seconds(7));
  engine->call(reported[0].name, 5);
  EXPECT_THAT(births(pass(seconds(5))), IsEmpty());
  EXPECT_EQ(parse_mark(slurm.job(id)->mark)->job, 5);
  EXPECT_EQ(state(id), SlurmState::pending);
}

TEST_F(SlurmRunsTest, ItStartsWhereItIsToldToOnGpusOfSlurmsChoice) {
  const std::string id = born(1, 2, 2);
  ASSERT_TRUE(start({1, 1}, {3, 1}));
  const auto reports = pass(kMoment);
  const std::vector<WorkerPlace> places{{MachineId{3}, {2, 3}}, {MachineId{1}, {2, 3}}};
  EXPECT_EQ(only(reports, Kind::started).places, places);
  EXPECT_EQ(slurm.begun(id).times, 1);
}

TEST_F(SlurmRunsTest, APauseEndsWhenNothingIsLeftAndTheNextStartIsAtOnce) {
  const std::string id = running(1, 0, {.leaves_after = {}});
  stop({1, 1}, seconds(3));
  EXPECT_FALSE(has(pass(seconds(6)), Kind::exited)) << "it has 3 s, and Slurm's KillWait of 5";
  EXPECT_EQ(slurm.processes(), 1U);
  EXPECT_TRUE(has(pass(seconds(4)), Kind::exited));
  EXPECT_EQ(slurm.processes(), 0U);
  ASSERT_TRUE(start({1, 2}, {2}));
  EXPECT_EQ(only(pass(seconds(4)), Kind::started).places.front().machine, MachineId{2});
  EXPECT_EQ(slurm.job(id)->restarts, 1U);
}

TEST_F(SlurmRunsTest, OneThatLeavesByItselfWhenAskedIsPausedAllTheSame) {
  const std::string id = running(1, 0, {.leaves_after = kMoment, .exit_when_told = 0});
  stop({1, 1}, seconds(30));
  const RunReport left = only(pass(seconds(2)), Kind::exited);
  EXPECT_EQ(left.exit_status, 0);
  EXPECT_TRUE(left.asked_requeue) << "else a status of 0 means that it is done";
  EXPECT_EQ(state(id), SlurmState::pending);
  EXPECT_TRUE(slurm.job(id)->is_held);
  ASSERT_TRUE(start({1, 2}, {0}));
  EXPECT_FALSE(has(pass(kMoment), Kind::started)) << "slurmd would refuse it so soon";
  EXPECT_TRUE(has(pass(seconds(4)), Kind::started));
}

TEST_F(SlurmRunsTest, APausedJobThatSlurmWillNotRunAgainIsWithdrawnAndNotDone) {
  const std::string id = running(1, 0, {.leaves_after = kMoment, .exit_when_told = 0});
  slurm.change(id, [](SlurmJob& job) { job.may_requeue = false; });
  stop({1, 1}, seconds(30));
  const auto reports = pass(seconds(3));
  EXPECT_THAT(only(reports, Kind::withdrawn).why, HasSubstr("refuses to run it again"));
  EXPECT_FALSE(only(reports, Kind::exited).asked_requeue);
}

TEST_F(SlurmRunsTest, APausedJobWhoseRequeueComesLateIsNotWithdrawn) {
  const std::string id = running(1, 0, {.leaves_after = kMoment, .exit_when_told = 0});
  stop({1, 1}, seconds(30));
  pass(microseconds(400'000));  // it has been told
  slurm.delay_next_act();       // that requeues it; it is requeued again, which Slurm then refuses
  const auto reports = pass(seconds(3));
  EXPECT_FALSE(has(reports, Kind::withdrawn));
  EXPECT_TRUE(only(reports, Kind::exited).asked_requeue);
  EXPECT_EQ(slurm.job(id)->restarts, 1U);
}

TEST_F(SlurmRunsTest, WhatSlurmDoesNotStartIsHeldAgain) {
  const std::string id = born(1);
  slurm.set_node("n0", MachineReport::State::closed);
  ASSERT_TRUE(start({1, 1}, {0}));
  EXPECT_FALSE(has(pass(seconds(10)), Kind::lost));
  EXPECT_THAT(only(pass(seconds(10)), Kind::lost).why, HasSubstr("did not start it on n0"));
  EXPECT_TRUE(slurm.job(id)->is_held);
  ASSERT_TRUE(start({1, 2}, {1}));
  EXPECT_TRUE(has(pass(kMoment), Kind::started));
}

TEST_F(SlurmRunsTest, AnAnswerThatIsLostMakesNoSecondStart) {
  const std::string id = born(1, 1, 2, {.runs_for = seconds(3)});
  slurm.lose_next_answer();
  ASSERT_TRUE(start({1, 1}, {0}));
  const auto reports = pass(seconds(10));
  EXPECT_TRUE(has(reports, Kind::started));
  EXPECT_EQ(only(reports, Kind::exited).exit_status, 0);
  EXPECT_EQ(slurm.begun(id).times, 1);
}

TEST_F(SlurmRunsTest, AnAcknowledgedStartThatSlurmLosesIsLost) {
  const std::string id = born(1);
  pass(seconds(10));  // it is saved
  ASSERT_TRUE(start({1, 1}, {0}));
  slurm.kill();
  pass(seconds(20));
  slurm.restart();
  const auto reports = pass(seconds(5));
  EXPECT_FALSE(has(reports, Kind::lost)) << "it may have begun, unseen";
  EXPECT_THAT(only(reports, Kind::noted).why, HasSubstr("may be run a second time"));
  EXPECT_THAT(only(pass(seconds(10)), Kind::lost).why, HasSubstr("lost the order"));
  ASSERT_TRUE(start({1, 2}, {0}));
  EXPECT_TRUE(has(pass(kMoment), Kind::started));
  EXPECT_EQ(slurm.begun(id).times, 1);
}

TEST_F(SlurmRunsTest, AStartThatSlurmForgetsHoldsItsGpusUntilNothingIsLeftOfIt) {
  const std::string id = born(1);
  pass(seconds(10));
  ASSERT_TRUE(start({1, 1}, {0}));
  EXPECT_TRUE(has(pass(kMoment), Kind::started));
  slurm.kill();
  pass(kMoment);
  slurm.restart();
  const auto reports = pass(seconds(5));
  EXPECT_THAT(only(reports, Kind::noted).why, HasSubstr("forgotten that it runs"));
  EXPECT_FALSE(has(reports, Kind::lost));
  EXPECT_TRUE(has(pass(seconds(10)), Kind::lost));
  EXPECT_EQ(slurm.processes(), 0U);
  ASSERT_TRUE(start({1, 2}, {0}));
  EXPECT_TRUE(has(pass(kMoment), Kind::started));
  EXPECT_EQ(slurm.begun(id).repeats, 1) << "by Slurm's restart count; it was noted";
}

TEST_F(SlurmRunsTest, AStartThatSlurmForgetsBeforeItIsSeenIsNoted) {
  const std::string id = born(1);
  ASSERT_TRUE(start({1, 1}, {0}));
  slurm.save();
  clock.now = clock.now + kMoment;
  ASSERT_EQ(state(id), SlurmState::running);
  slurm.kill();
  pass(kMoment);
  slurm.restart();
  const auto reports = pass(seconds(5));
  EXPECT_THAT(only(reports, Kind::noted).why, HasSubstr("a second time"));
  EXPECT_TRUE(has(reports, Kind::started));
  EXPECT_EQ(slurm.begun(id).repeats, 1);
}

TEST_F(SlurmRunsTest, AnEndThatSlurmForgetsMakesNoSecondRun) {
  const std::string id = running(1, 0, {.runs_for = seconds(3)});
  const std::uint64_t serial = slurm.serial(id);
  slurm.save();
  EXPECT_EQ(only(pass(seconds(4)), Kind::exited).exit_status, 0);
  engine->end(1);
  slurm.kill();
  pass(kMoment);
  slurm.restart();
  ASSERT_EQ(state(id), SlurmState::running) << "as it was when it was saved";
  EXPECT_THAT(births(pass(minutes(10))), IsEmpty());
  EXPECT_EQ(slurm.begun_by(serial).times, 1);
}

TEST_F(SlurmRunsTest, APauseThatSlurmForgetsIsMadeAgain) {
  const std::string id = running(1);
  slurm.save();
  stop({1, 1}, {});
  EXPECT_TRUE(has(pass(kMoment), Kind::exited));
  slurm.kill();
  pass(kMoment);
  slurm.restart();
  ASSERT_EQ(state(id), SlurmState::running) << "as it was when it was saved";
  EXPECT_FALSE(has(pass(seconds(12)), Kind::withdrawn));
  EXPECT_TRUE(slurm.job(id)->is_held);
  ASSERT_TRUE(start({1, 2}, {1}));
  EXPECT_TRUE(has(pass(kMoment), Kind::started));
}

TEST_F(SlurmRunsTest, AnIdThatIsGivenAgainIsAnotherJob) {
  pass(seconds(10));
  const std::string id = born(1);
  slurm.kill();
  pass(kMoment);
  slurm.restart();
  EXPECT_EQ(slurm.sbatch(1, 1), id);
  const auto reports = pass(kMoment);
  EXPECT_EQ(only(reports, Kind::withdrawn).id.job, 1);
  ASSERT_EQ(births(reports).size(), 1U);
  EXPECT_NE(births(reports)[0].name, names_[1]);
}

TEST_F(SlurmRunsTest, WhileSlurmctldIsAwayNothingChanges) {
  running(1, 0, {.runs_for = minutes(10)});
  const std::string id = born(2);
  slurm.set_away(true);
  ASSERT_TRUE(start({2, 1}, {1}));
  EXPECT_THAT(pass(minutes(5)), IsEmpty());
  slurm.set_away(false);
  EXPECT_EQ(only(pass(seconds(12)), Kind::started).id.job, 2);
}

TEST_F(SlurmRunsTest, AfterARestartRunsAreFoundAgainAndNoneIsStartedTwice) {
  const std::string id = running(1, 0, {.runs_for = minutes(1)});
  born(2);
  reopen();
  engine->call(names_[1], 1), engine->call(names_[2], 2);
  EXPECT_TRUE(engine->adopt({1, 1}));
  EXPECT_TRUE(engine->adopt({2, 1}));  // ordered, says the journal; but it never came to that
  const auto reports = pass(kMoment);
  EXPECT_EQ(only(reports, Kind::started).id.job, 1);
  EXPECT_EQ(only(reports, Kind::lost).id.job, 2);
  EXPECT_FALSE(start({1, 1}, {0}));
  EXPECT_EQ(only(pass(minutes(1)), Kind::exited).id.job, 1);
  EXPECT_EQ(slurm.begun(id).times, 1);
}

TEST_F(SlurmRunsTest, OneThatLeavesWhileNoDaemonIsThereIsPausedAllTheSame) {
  const std::string id = running(1, 0, {.leaves_after = kMoment, .exit_when_told = 0});
  stop({1, 1}, seconds(30));
  clock.now = clock.now + minutes(1);
  reopen();
  ASSERT_EQ(state(id), SlurmState::completed);
  engine->call(names_[1], 1);
  EXPECT_TRUE(engine->adopt({1, 1}));
  stop({1, 1}, seconds(30));  // the journal says that it was to leave
  EXPECT_TRUE(only(pass(kMoment), Kind::exited).asked_requeue) << "else it is done";
  EXPECT_TRUE(slurm.job(id)->is_held);
  ASSERT_TRUE(start({1, 2}, {0}));
  EXPECT_TRUE(has(pass(seconds(4)), Kind::started));
}

TEST_F(SlurmRunsTest, OneOfOursThatIsKilledAfterItsGraceIsPausedThoughTheDaemonDies) {
  slurm.set_script(1, {.leaves_after = {}});
  JobSpec spec;
  spec.command = {"true"};
  Launch launch;
  launch.id = {1, 1};
  launch.spec = &spec;
  launch.per_worker.gpus = 2;
  launch.workers = {{MachineId{0}, {}}};
  ASSERT_TRUE(engine->start(launch));
  EXPECT_TRUE(has(pass(kMoment), Kind::started));
  stop({1, 1}, seconds(1));
  EXPECT_FALSE(has(pass(seconds(2)), Kind::exited)) << "it is cancelled, and takes its time";
  reopen();
  ASSERT_EQ(state("1"), SlurmState::cancelled);
  EXPECT_TRUE(engine->adopt({1, 1}));
  stop({1, 1}, seconds(1));
  const auto reports = pass(seconds(10));
  EXPECT_FALSE(has(reports, Kind::withdrawn));
  EXPECT_NE(only(reports, Kind::exited).exit_status, 0);
}

TEST_F(SlurmRunsTest, ARunThatIsNotAdoptedYetIsLeftAlone) {
  const std::string id = running(1);
  engine.reset();
  const auto connection = slurm.connect();
  SlurmRuns after(clock, *connection, {.partition = "train", .daemon = "1a2b3c4d"});
  const int acts = slurm.acts();
  for (int looks = 0; looks < 3; ++looks) {
    EXPECT_TRUE(after.look());
    if (looks == 0) after.call(names_[1], 1);
    if (looks == 1) after.adopt({1, 1});
    clock.now = clock.now + kMoment;
  }
  EXPECT_THAT(after.take_reports(), testing::SizeIs(1)) << "there is a cluster";
  after.open();
  EXPECT_TRUE(after.look());
  EXPECT_TRUE(has(after.take_reports(), Kind::started));
  EXPECT_EQ(slurm.acts(), acts);
  EXPECT_EQ(state(id), SlurmState::running);
}

TEST_F(SlurmRunsTest, WhatItsUserHoldsIsLeftAlone) {
  const std::string id = slurm.sbatch(1, 2);
  slurm.change(id, [](SlurmJob& job) { job.mark.clear(); });  // sbatch -H, where no script is
  EXPECT_THAT(births(pass(seconds(5))), IsEmpty());
  const auto connection = slurm.connect();
  EXPECT_THAT(*release_jobs(*connection, "train"), IsEmpty());
  EXPECT_TRUE(slurm.job(id)->is_held);
}

TEST_F(SlurmRunsTest, WhatAnotherDaemonHasPausedIsTakenOver) {
  const std::string id = running(1);
  stop({1, 1}, {});
  EXPECT_TRUE(has(pass(seconds(8)), Kind::exited));
  slurm.change(id, [](SlurmJob& job) {
    job.request.nodes_wanted = "n0";
    job.mark = format(SlurmMark{.daemon = "deadbeef", .job = 9, .run = 3});
  });
  reopen();
  const auto reported = births(pass(minutes(3)));
  ASSERT_EQ(reported.size(), 1U) << slurm.job(id)->mark;
  engine->call(names_[7] = reported.front().name, 7);
  pass(kMoment);
  ASSERT_TRUE(start({7, 1}, {2}));
  EXPECT_TRUE(has(pass(seconds(5)), Kind::started));
}

TEST_F(SlurmRunsTest, WhoReleasesAJobIsNoticedAndItIsHeldAgain) {
  const std::string id = born(1);
  slurm.scontrol_release(id);
  clock.now = clock.now + microseconds(100'000);
  EXPECT_THAT(only(engine->poll(), Kind::noted).why, HasSubstr("released"));
  EXPECT_TRUE(slurm.job(id)->is_held);
}

TEST_F(SlurmRunsTest, AJobThatIsStartedBehindOurBackHoldsItsGpusAsANewOne) {
  const std::string id = born(1, 1, 2, {.runs_for = seconds(5)});
  slurm.scontrol_release(id);
  clock.now = clock.now + seconds(1);
  const auto reports = pass(kMoment);
  EXPECT_THAT(only(reports, Kind::withdrawn).why, HasSubstr("without being asked"));
  const auto reported = births(reports);
  ASSERT_EQ(reported.size(), 1U);
  EXPECT_EQ(reported[0].places, (std::vector<WorkerPlace>{{MachineId{0}, {2, 3}}}));
  EXPECT_EQ(reported[0].name, names_[1] + ".2");
  engine->call(reported[0].name, 2);
  EXPECT_EQ(only(pass(seconds(9)), Kind::exited).id, (RunId{2, 1}));
}

TEST_F(SlurmRunsTest, WhatIsCancelledInSlurmIsWithdrawn) {
  const std::string waiting = born(1), runs = running(2);
  slurm.scancel(waiting), slurm.scancel(runs);
  const auto reports = pass(kMoment);
  EXPECT_THAT(jobs_with(reports, Kind::withdrawn), testing::UnorderedElementsAre(1, 2));
  EXPECT_EQ(only(reports, Kind::exited).id.job, 2);
}

TEST_F(SlurmRunsTest, AJobThatRequeuesItselfIsBelievedAndHeld) {
  const std::string id = running(1);
  slurm.scontrol_requeue(id);
  EXPECT_TRUE(only(pass(kMoment), Kind::exited).asked_requeue);
  EXPECT_TRUE(slurm.job(id)->is_held);
}

TEST_F(SlurmRunsTest, OneThatRequeuesItselfUnseenIsNotStartedWithinTheSecond) {
  const std::string id = born(1);
  ASSERT_TRUE(start({1, 1}, {0}));
  slurm.change(id, [&](SlurmJob& job) {  // it has begun and ended between two looks
    job.restarts = 1, job.is_held = true;
    job.submitted = clock.now;
  });
  EXPECT_TRUE(only(pass(microseconds(200'000)), Kind::exited).asked_requeue);
  ASSERT_TRUE(start({1, 2}, {0}));
  EXPECT_TRUE(has(pass(seconds(4)), Kind::started));
}

TEST_F(SlurmRunsTest, WhatANodeTakesWithItIsRunAgain) {
  const std::string id = running(1);
  slurm.set_node("n0", MachineReport::State::down);
  EXPECT_TRUE(has(pass(kMoment), Kind::lost));
  ASSERT_TRUE(start({1, 2}, {1}));
  EXPECT_TRUE(has(pass(seconds(4)), Kind::started));
}

TEST_F(SlurmRunsTest, DependenciesLaterBeginsAndLimitsOfArraysAreSlurms) {
  const std::string dependent = slurm.sbatch(1, 1), later = slurm.sbatch(1, 1);
  slurm.change(dependent, [](SlurmJob& job) { job.dependency = "afterok:9(unfulfilled)"; });
  slurm.change(later, [&](SlurmJob& job) { job.eligible = clock.now + minutes(1); });
  for (int task = 0; task < 3; ++task) {
    const std::string id = slurm.sbatch(1, 1);
    slurm.change(id, [](SlurmJob& job) { job.array = "7", job.at_once = 2; });
  }
  EXPECT_EQ(births(pass(kMoment)).size(), 2U) << "two tasks of the array";
  slurm.change(dependent, [](SlurmJob& job) { job.dependency = ""; });
  EXPECT_EQ(births(pass(kMoment)).size(), 1U);
  EXPECT_EQ(births(pass(minutes(1))).size(), 1U);
}

TEST_F(SlurmRunsTest, ACommentThatCannotBeReadSaysSoWhereSlurmShowsItAndCanBeMended) {
  const std::string id = slurm.sbatch(1, 1, {}, "trainyard: clas=trial");
  EXPECT_THAT(births(pass(kMoment)), IsEmpty());
  EXPECT_THAT(slurm.job(id)->mark, HasSubstr("not taken: comment: unknown key 'clas'"));
  const int acts = slurm.acts();
  pass(seconds(5));
  EXPECT_EQ(slurm.acts(), acts) << "it is said once";
  slurm.change(id, [](SlurmJob& job) { job.comment = "trainyard: class=trial"; });
  EXPECT_EQ(births(pass(kMoment)).size(), 1U);
}

TEST_F(SlurmRunsTest, AJobThatRunsTellsItsProgressInItsComment) {
  const std::string id = running(1);
  const auto tell = [&](const char* told) {
    slurm.change(id, [&](SlurmJob& job) { job.comment = std::string("trainyard: ") + told; });
    std::vector<std::int64_t> steps;
    for (const EngineReport& report : pass(kMoment))
      if (const auto* run = std::get_if<RunReport>(&report); run->kind == Kind::progress)
        steps.push_back(run->progress.step);
    return steps;
  };
  EXPECT_EQ(tell("told0={\"step\":3,\"accuracy\":0.5}"), std::vector<std::int64_t>{3});
  EXPECT_THAT(tell("told0={\"step\":3,\"accuracy\":0.5}"), IsEmpty()) << "nothing is new";
  EXPECT_EQ(tell("class=trial told0={\"step\":4}"), std::vector<std::int64_t>{4});
  EXPECT_THAT(tell("told1={\"step\":9}"), IsEmpty()) << "of another run";
  EXPECT_THAT(tell("told0={\"step\":\"x\"}"), IsEmpty());
}

TEST_F(SlurmRunsTest, AWaitingJobThatHasToldSomethingAsksForTheSame) {
  const std::string id = running(1);
  slurm.change(id, [](SlurmJob& job) { job.comment = "trainyard: told0={\"step\":3}"; });
  pass(kMoment);
  stop({1, 1}, {});
  EXPECT_TRUE(has(pass(seconds(3)), Kind::exited));
  EXPECT_THAT(pass(seconds(10)), IsEmpty()) << "it is neither withdrawn nor born anew";
}

TEST_F(SlurmRunsTest, WhatSlurmItselfChangesOfAJobThatHasRunIsNoChange) {
  const std::string id = running(1);
  stop({1, 1}, {});
  EXPECT_TRUE(has(pass(seconds(3)), Kind::exited));
  slurm.change(id, [](SlurmJob& job) { job.request.tasks = job.request.cpus = 2; });
  EXPECT_THAT(pass(kMoment), IsEmpty());
  slurm.change(id, [](SlurmJob& job) { job.request.per_node.count = 1; });
  const auto reports = pass(kMoment);
  EXPECT_TRUE(has(reports, Kind::withdrawn));
  EXPECT_EQ(births(reports).size(), 1U);
  EXPECT_EQ(slurm.job(id)->request.nodes_wanted, "") << "our pin is gone";
}

TEST_F(SlurmRunsTest, AJobThatIsChangedIsAnotherToTheYard) {
  const std::string id = born(1);
  slurm.change(id, [](SlurmJob& job) { job.request.per_node.count = 4; });
  const auto reports = pass(kMoment);
  EXPECT_THAT(only(reports, Kind::withdrawn).why, HasSubstr("changed in Slurm"));
  ASSERT_EQ(births(reports).size(), 1U);
  EXPECT_EQ(births(reports)[0].spec.per_worker.gpus, 4);
}

TEST_F(SlurmRunsTest, WhatHasEndedForTheYardIsCancelledInSlurm) {
  const std::string id = born(1);
  engine->end(1);
  pass(kMoment);
  EXPECT_EQ(state(id), SlurmState::cancelled);
}

TEST_F(SlurmRunsTest, ADryRunDecidesAndTouchesNothing) {
  const std::string id = slurm.sbatch(1, 2);
  slurm.scontrol_release(id);
  slurm.set_node("n0", MachineReport::State::closed);  // so that Slurm itself has a choice less
  reopen(true);
  const auto reported = births(pass(microseconds(200'000)));
  ASSERT_EQ(reported.size(), 1U);
  engine->call(names_[1] = reported[0].name, 1);
  ASSERT_TRUE(start({1, 1}, {2}));
  EXPECT_EQ(only(pass(kMoment), Kind::started).places,
            (std::vector<WorkerPlace>{{MachineId{2}, {0, 1}}}));
  stop({1, 1}, {});
  EXPECT_TRUE(has(pass(kMoment), Kind::exited));
  EXPECT_EQ(slurm.acts(), 0);
}

TEST_F(SlurmRunsTest, ADryRunSeesWhatSlurmItselfStarts) {
  const std::string id = slurm.sbatch(1, 2, {.runs_for = seconds(5)});
  reopen(true);
  const auto reported = births(pass(kMoment));
  ASSERT_EQ(reported.size(), 1U);
  engine->call(names_[1] = reported[0].name, 1);
  pass(kMoment);
  slurm.scontrol_release(id);
  const auto reports = pass(seconds(2));
  EXPECT_THAT(only(reports, Kind::withdrawn).why, HasSubstr("without being asked"));
  EXPECT_EQ(births(reports).size(), 1U);
  EXPECT_EQ(slurm.acts(), 0);
}

TEST_F(SlurmRunsTest, ADryRunGivesNoGpusThatANodeHasNot) {
  const std::string theirs = slurm.sbatch(1, 3, {.runs_for = minutes(1)});
  slurm.sbatch(1, 2);
  reopen(true);
  const auto reported = births(pass(kMoment));
  ASSERT_EQ(reported.size(), 2U);
  engine->call(names_[1] = reported[0].name, 1);
  engine->call(names_[2] = reported[1].name, 2);
  slurm.scontrol_release(theirs);  // 3 of the 4 GPUs of n0
  pass(seconds(2));
  ASSERT_TRUE(start({2, 1}, {0}));
  EXPECT_THAT(only(pass(kMoment), Kind::started).places, IsEmpty()) << "it cannot be said";
}

TEST_F(SlurmRunsTest, APartitionThatIsGivenBackHasNoHoldAndNoPinOfOurs) {
  const std::string paused = running(1), waits = born(2);
  stop({1, 1}, {});
  pass(seconds(3));
  engine.reset();
  auto connection = slurm.connect();
  const auto released = release_jobs(*connection, "train");
  ASSERT_TRUE(released);
  EXPECT_EQ(released->size(), 2U);
  for (const std::string& id : {paused, waits}) {
    EXPECT_FALSE(slurm.job(id)->is_held);
    EXPECT_EQ(slurm.job(id)->mark, "");
    EXPECT_EQ(slurm.job(id)->request.nodes_wanted, "");
  }
}

}  // namespace
}  // namespace trainyard
