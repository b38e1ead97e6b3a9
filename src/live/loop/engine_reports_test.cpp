// What engines report of machines, of starts that fail late or elsewhere, and of jobs that were not
// submitted to us: on a cluster in memory, whose processes show whether anything runs where another
// still lives.
#include "live/loop/engine_reports_fixture.h"

namespace trainyard {
namespace {

using Gpus = std::vector<std::string>;

using testing::HasSubstr;

// --- Machines ------------------------------------------------------------------------------------

TEST_F(EngineReports, AMachineThatIsDownTakesNothingUntilItIsUpAgain) {
  down("r0m1");
  ASSERT_TRUE(node_becomes(1, "down"));
  EXPECT_EQ(node(1).reason, "no answer");
  const JobNumber first = submit(spec(4)), second = submit(spec(4));
  EXPECT_TRUE(becomes(first, "running"));
  EXPECT_EQ(record(first).life.room.placement[0].machine, MachineId{0});
  EXPECT_EQ(state(second), "queued");
  begin();
  EXPECT_TRUE(node_becomes(1, "down")) << "the engine says so again";
  up("r0m1");
  EXPECT_TRUE(becomes(second, "running"));
  EXPECT_EQ(node(1).state, "up");
}

TEST_F(EngineReports, OneThatTheEngineClosesKeepsItsJobs) {
  const JobNumber job = submit(gang(2, 4));
  ASSERT_TRUE(becomes(job, "running"));
  world.set_machine({"r0m0", State::closed, "for repair"});
  ASSERT_TRUE(node_becomes(0, "closed"));
  EXPECT_EQ(node(0).reason, "for repair");
  ASSERT_TRUE(master->open_machine(kOperator, "r0m0"));
  EXPECT_EQ(node(0).state, "closed") << "an operator of ours cannot open it";
  EXPECT_EQ(state(job), "running");
  ASSERT_TRUE(master->close_machine(kOperator, "r0m0"));
  up("r0m0");
  pass({});
  EXPECT_EQ(node(0).state, "closed") << "nor the engine what an operator closed";
}

TEST_F(EngineReports, WhereNoMachineIsUpAJobIsToldSo) {
  down("r0m0");
  ASSERT_TRUE(master->close_machine(kOperator, "r0m1"));
  ASSERT_TRUE(node_becomes(0, "down"));
  const JobNumber job = submit(spec());
  const auto why = master->why(kAda, job);
  ASSERT_TRUE(why);
  EXPECT_EQ(why->reason.sentence, "every machine is closed or down: nothing new starts");
  EXPECT_EQ(why->advice, "ask an operator for: trainyard open r0m1");
}

TEST_F(EngineReports, TheRestOfAHalfDeadGangIsStoppedBeforeAnythingStartsThere) {
  const JobNumber job = submit_that(gang(2, 4), {.leaves_after = seconds(5)});
  ASSERT_TRUE(becomes(job, "running"));
  down("r0m1");
  ASSERT_TRUE(node_becomes(1, "down"));
  const JobNumber next = submit(spec(4, JobClass::trial));
  pass(seconds(4));
  EXPECT_EQ(world.living({job, 1}), 1U) << "it needs as long to leave";
  EXPECT_EQ(record(next).runs, 0U);
  pass(seconds(1));
  EXPECT_TRUE(becomes(job, "queued"));
  EXPECT_EQ(record(job).reason, "machine r0m1 is down");
  ASSERT_TRUE(becomes(next, "running"));
  EXPECT_EQ(record(next).life.room.placement[0].machine, MachineId{0});
  up("r0m1");
  ASSERT_TRUE(master->cancel(kAda, {next}));
  EXPECT_TRUE(becomes(job, "running"));
  EXPECT_EQ(record(job).runs, 2U);
}

TEST_F(EngineReports, ABrokenRunIsStillStoppedAfterARestart) {
  const JobNumber job = submit_that(gang(2, 4), {.breaks_after = minutes(1)});
  ASSERT_TRUE(becomes(job, "running"));
  system.fail_at("engine.stop", "not now");
  pass(minutes(2));
  ASSERT_TRUE(eventually([&] { return record(job).reason == "worker 0 is gone"; }));
  EXPECT_EQ(state(job), "running") << "its GPUs are held while a part of it lives";
  EXPECT_EQ(world.living({job, 1}), 1U);
  world.set_script(job, {});
  master.reset();
  system.heal();
  begin();
  EXPECT_TRUE(eventually([&] { return record(job).runs == 2; }));
  EXPECT_TRUE(becomes(job, "running"));
}

// --- A cluster that changes ----------------------------------------------------------------------

TEST_F(EngineReports, NewMachinesAreUsedAndWhatRunsGoesOn) {
  const JobNumber running = submit(spec(4)), other = submit(spec(4)), waiting = submit(spec(4));
  ASSERT_TRUE(becomes(running, "running") && becomes(other, "running"));
  ASSERT_EQ(record(other).life.room.placement[0].machine, MachineId{1});
  Cluster larger = cluster("2x2x4xV100");  // the second rack's come after both of the first
  world.set_cluster(larger);
  EXPECT_TRUE(becomes(waiting, "running"));
  EXPECT_EQ(state(running), "running");
  EXPECT_EQ(record(running).runs, 1U);
  EXPECT_EQ(master->cluster(kOperator)->machines.size(), 4U);
  std::swap(larger.machines[1].name, larger.machines[3].name);
  world.set_cluster(larger);
  EXPECT_TRUE(eventually([&] { return node(3).name == "r0m1"; }));
  EXPECT_EQ(node(3).by_gpu, std::vector<JobNumber>(4, other)) << "machines go by their names";
  EXPECT_EQ(record(other).life.room.placement[0].machine, MachineId{3});
  std::swap(larger.machines[0].name, larger.machines[3].name);
  master.reset();
  world.set_cluster(larger);
  begin();
  EXPECT_EQ(node(0).by_gpu, std::vector<JobNumber>(4, other)) << "also over a restart";
  EXPECT_EQ(state(other), "running");
  EXPECT_EQ(record(other).runs, 1U);
}

TEST_F(EngineReports, JobsThatFitOnlyTheNewMachinesAreTakenUp) {
  const JobNumber running = submit(spec(4));
  ASSERT_TRUE(becomes(running, "running"));
  ASSERT_FALSE(master->submit(kAda, gang(3, 4)));
  world.set_cluster(cluster("3x4xV100"));
  ASSERT_TRUE(eventually([&] { return master->cluster(kAda)->machines.size() == 3; }));
  const JobNumber large = submit(gang(3, 4));
  world.set_cluster(cluster("2x4xV100"));
  EXPECT_TRUE(becomes(large, "held"));
  world.set_cluster(cluster("4x4xV100"));
  EXPECT_TRUE(becomes(large, "running"));
  EXPECT_EQ(record(running).runs, 1U);
}

TEST_F(EngineReports, AMachineWithLessMemoryUnderAJobWaitsForItsEnd) {
  const JobNumber job = submit(spec(3));
  ASSERT_TRUE(becomes(job, "running"));
  Cluster smaller = cluster("2x4xV100");
  const std::int32_t before = smaller.machines[0].capacity.memory_mib;
  smaller.machines[0].capacity.memory_mib = before / 2;
  world.set_cluster(smaller);
  ASSERT_TRUE(node_becomes(0, "closed"));
  EXPECT_EQ(node(0).reason, "it changes when what runs there has left");
  EXPECT_EQ(node(0).capacity.memory_mib, before);
  EXPECT_EQ(state(job), "running");
  ASSERT_TRUE(master->cancel(kAda, {job}));
  EXPECT_TRUE(eventually([&] { return node(0).capacity.memory_mib == before / 2; }));
  EXPECT_EQ(node(0).state, "up");
}

// --- Starts --------------------------------------------------------------------------------------

TEST_F(EngineReports, AStartThatFailsLateIsTriedAgainAndNotTheJobsFault) {
  JobSpec timed = spec(4);
  timed.time = minutes(1);
  const JobNumber job =
      submit_that(timed, {.start_takes = minutes(5), .start_fails = "the node does not boot"});
  ASSERT_TRUE(begins(job));
  pass(minutes(4));
  EXPECT_EQ(state(job), "starting") << "its time does not run yet";
  pass(minutes(1));
  ASSERT_TRUE(begins(job, 2)) << "once more at once";
  EXPECT_EQ(record(job).reason, "could not be started: the node does not boot");
  pass(minutes(5));
  ASSERT_TRUE(becomes(job, "held")) << "then it rests";
  const auto why = master->why(kAda, job);
  EXPECT_EQ(why->reason.token, "start-failed");
  EXPECT_THAT(why->reason.sentence,
              HasSubstr("could not be started: the node does not boot; it is tried again in"));
  for (std::uint32_t run = 3; run < 15; ++run) {
    pass(minutes(1));
    ASSERT_TRUE(begins(job, run));
    pass(minutes(5));
    ASSERT_TRUE(becomes(job, "held"));
  }
  world.set_script(job, {.start_takes = minutes(2)});
  pass(minutes(1));
  ASSERT_TRUE(begins(job, 15));
  pass(minutes(2));
  EXPECT_TRUE(becomes(job, "running"));
  EXPECT_EQ(record(job).failed_starts, 0U);
  EXPECT_EQ(record(job).reason, "");
}

TEST_F(EngineReports, WhileOneRestsOthersHaveTheirTurn) {
  const JobNumber bad = submit_that(gang(2, 4), {.start_fails = "no"});
  ASSERT_TRUE(becomes(bad, "held"));
  const JobNumber good = submit(gang(2, 4));
  EXPECT_TRUE(becomes(good, "running"));
  begin();
  EXPECT_TRUE(becomes(bad, "queued")) << "a new daemon tries it again";
}

TEST_F(EngineReports, WhatTheEngineSaysIsTheJobsFaultFails) {
  const JobNumber job =
      submit_that(spec(), {.start_takes = minutes(5), .refused = "no such account"});
  ASSERT_TRUE(begins(job));
  pass(minutes(5));
  EXPECT_TRUE(becomes(job, "failed"));
  EXPECT_EQ(record(job).reason, "no such account");
}

TEST_F(EngineReports, TheEngineMayChooseTheGpus) {
  world.choose_gpus();
  const JobNumber first = submit_that(spec(1), {.start_takes = minutes(1)});
  const JobNumber second = submit_that(spec(2), {.start_takes = minutes(1)});
  ASSERT_TRUE(begins(first) && begins(second));
  pass(minutes(1));
  ASSERT_TRUE(becomes(first, "running") && becomes(second, "running"));
  for (const JobNumber job : {first, second}) {
    const JobLife life = record(job).life;
    ASSERT_EQ(life.room.gpus.size(), 1U);
    EXPECT_EQ(find_room(life.room, cluster("2x4xV100")).gpus[0], world.places({job, 1})[0].gpus)
        << job;
  }
  const std::size_t machine = index(record(first).life.room.placement[0].machine);
  EXPECT_EQ(node(machine).by_gpu[3], first);
}

// --- Jobs that were not submitted to us ----------------------------------------------------------

TEST_F(EngineReports, AJobThatIsBornElsewhereIsScheduledOnce) {
  BirthReport birth{"slurm-17", kBob, spec(2), {}};
  birth.spec.environment = {{"A", "B"}};
  world.bear(birth, {.runs_for = hours(1), .exit_status = 3});
  ASSERT_TRUE(becomes(1, "running"));
  EXPECT_EQ(record(1).owner.user, "bob");
  EXPECT_EQ(record(1).born_as, "slurm-17");
  EXPECT_EQ(record(1).spec.name, "slurm-17");
  EXPECT_EQ(journal->payload(1)->environment.at("A"), "B");
  begin();
  world.bear(birth);
  EXPECT_EQ(submit(spec(4)), 2) << "and it is known again";
  pass(hours(1));
  EXPECT_TRUE(becomes(1, "failed"));
  world.bear(birth);
  begin();
  EXPECT_EQ(submit(spec(1)), 3) << "also when it has ended";
}

TEST_F(EngineReports, ItsUserMayWithdrawItThere) {
  down("r0m0"), down("r0m1");
  world.bear({"slurm-17", kBob, spec(2), {}});
  ASSERT_TRUE(becomes(1, "queued"));
  world.withdraw("slurm-17");
  EXPECT_TRUE(becomes(1, "cancelled"));
  EXPECT_EQ(record(1).reason, "its user has withdrawn it");
}

TEST_F(EngineReports, OneThatIsCancelledHereIsNotReportedAgain) {
  down("r0m0"), down("r0m1");
  world.bear({"slurm-17", kBob, spec(2), {}});
  ASSERT_TRUE(becomes(1, "queued"));
  ASSERT_TRUE(master->cancel(kBob, {1}));
  EXPECT_TRUE(becomes(1, "cancelled"));
  begin();
  EXPECT_EQ(submit(spec()), 2);
}

TEST_F(EngineReports, WhatRunsOutsideOfOurControlHoldsItsGpus) {
  world.bear({"slurm-9", kBob, {}, {{MachineId{0}, {1, 3}}, {MachineId{1}, {0, 1, 2, 3}}}},
             {.runs_for = hours(1)});
  ASSERT_TRUE(becomes(1, "running"));
  EXPECT_EQ(node(0).by_gpu, (std::vector<JobNumber>{0, 1, 0, 1}));
  const JobNumber small = submit(spec(2));
  ASSERT_TRUE(becomes(small, "running"));
  EXPECT_EQ(record(small).life.room.gpus[0], (Gpus{"0", "2"}));
  const JobNumber trial = submit(spec(4, JobClass::trial));
  begin();
  EXPECT_EQ(node(0).by_gpu, (std::vector<JobNumber>{small, 1, small, 1}));
  pass(minutes(30));
  EXPECT_EQ(state(1), "running") << "it is paused for nobody";
  EXPECT_EQ(record(1).life.state.pauses, 0U);
  EXPECT_EQ(state(trial), "queued");
  pass(minutes(30));
  EXPECT_TRUE(becomes(1, "done"));
  EXPECT_TRUE(becomes(trial, "running"));
}

TEST_F(EngineReports, WhereOurOwnStartIsUnderWayItWaitsForThatToFail) {
  world.set_cluster(cluster("1x4xV100"));
  const JobNumber ours = submit_that(spec(4), {.start_takes = minutes(1), .start_fails = "taken"});
  ASSERT_TRUE(begins(ours));
  world.bear({"slurm-9", kBob, {}, {{MachineId{0}, {0, 1, 2, 3}}}});
  ASSERT_TRUE(becomes(2, "held"));
  EXPECT_EQ(master->why(kBob, 2)->reason.token, "outside");
  pass(minutes(1));
  EXPECT_TRUE(becomes(2, "running"));
  EXPECT_EQ(state(ours), "queued");
}

TEST_F(EngineReports, ItMayBeCancelledAndEndsWithItsMachine) {
  world.bear({"slurm-9", kBob, {}, {{MachineId{0}, {0}}}});
  world.bear({"slurm-10", kBob, {}, {{MachineId{1}, {0}}}});
  ASSERT_TRUE(becomes(1, "running") && becomes(2, "running"));
  ASSERT_TRUE(master->cancel(kBob, {1}));
  EXPECT_TRUE(becomes(1, "cancelled"));
  down("r0m1");
  EXPECT_TRUE(becomes(2, "failed"));
  EXPECT_EQ(record(2).reason, "its machine is down");
}

// --- An engine that is wrong ---------------------------------------------------------------------

TEST_F(YardmasterTest, ARunOnGpusThatItMustNotHaveIsStoppedAndSaidLoudly) {
  const JobNumber first = submit(spec(2)), second = submit(spec(1));
  run(first);
  ASSERT_TRUE(told("start 2.1"));
  RunReport started;
  started.kind = Kind::started, started.id = {second, 1}, started.at = Time::never();
  started.places = {{MachineId{0}, {1}}};
  engine->report(started);
  EXPECT_TRUE(told("stop 2.1"));
  EXPECT_EQ(state(second), "starting");
  EXPECT_EQ(system.log().count(LogLevel::error, "job 2: the engine started it on other GPUs"), 1U);
  engine->report(Kind::lost, {second, 1});
  EXPECT_TRUE(told("start 2.2"));
  EXPECT_THAT(record(second).reason, HasSubstr("the engine started it on other GPUs"));
}

TEST_F(YardmasterTest, TwoThatStartAtOnceMayHaveEachOthersGpus) {
  const JobNumber first = submit(spec(2)), second = submit(spec(2));
  ASSERT_TRUE(told("start 1.1") && told("start 2.1"));
  RunReport started;
  started.kind = Kind::started, started.id = {first, 1}, started.at = Time::never();
  started.places = {{MachineId{0}, {1, 2}}};
  engine->report(started);
  ASSERT_TRUE(becomes(first, "running"));
  EXPECT_EQ(record(first).life.room.gpus[0], (Gpus{"1", "2"}));
  EXPECT_EQ(record(second).life.room.gpus[0], (Gpus{"0", "3"}));
  begin();
  EXPECT_EQ(record(second).life.room.gpus[0], (Gpus{"0", "3"})) << "as it is kept";
}

TEST_F(YardmasterTest, OfAMachineThatThereIsNotNothingIsBelieved) {
  engine->report(MachineReport{"r9m9", MachineReport::State::down, ""});
  EXPECT_TRUE(eventually([&] {
    return system.log().count(LogLevel::warning,
                              "a machine 'r9m9' that its cluster does not have") == 1;
  }));
}

}  // namespace
}  // namespace trainyard
