// A cluster that changes while jobs start, run and leave, and while the daemon is away.
#include "live/loop/engine_reports_fixture.h"

namespace trainyard {
namespace {

class ClusterChange : public EngineReports {
 protected:
  static Cluster with_less_memory(Cluster of, std::size_t machine) {
    of.machines[machine].capacity.memory_mib /= 2;
    return of;
  }
};

TEST_F(ClusterChange, AnotherOneComesWhileAMachineWaitsToGetSmaller) {
  const JobNumber a = submit(spec(3)), b = submit(spec(4));
  ASSERT_TRUE(becomes(a, "running") && becomes(b, "running"));
  world.set_cluster(with_less_memory(cluster("2x4xV100"), 0));
  ASSERT_TRUE(node_becomes(0, "closed"));
  world.set_cluster(with_less_memory(with_one_before(), 1));
  ASSERT_TRUE(machines_become(3)) << "at once: machines have other ids now";
  const JobNumber c = submit(spec(4));
  ASSERT_TRUE(becomes(c, "running"));
  expect_where_it_is(c);
  ASSERT_TRUE(master->cancel(kAda, {b}));
  const JobNumber d = submit(spec(4));
  ASSERT_TRUE(becomes(d, "running"));
  expect_where_it_is(d);
}

TEST_F(ClusterChange, AMachineThatIsGoneStaysUntilItsJobsHaveLeft) {
  world.set_cluster(cluster("3x4xV100"));
  ASSERT_TRUE(machines_become(3));
  const JobNumber a = submit(spec(4)), b = submit(spec(4)), c = submit(spec(4));
  ASSERT_TRUE(becomes(a, "running") && becomes(b, "running") && becomes(c, "running"));
  world.set_cluster(cluster("2x4xV100"));
  ASSERT_TRUE(node_becomes(2, "closed"));
  EXPECT_EQ(node(2).reason, "it changes when what runs there has left");
  EXPECT_EQ(state(c), "running");
  ASSERT_TRUE(master->cancel(kAda, {c}));
  EXPECT_TRUE(machines_become(2));
  EXPECT_EQ(record(a).runs, 1U);
}

TEST_F(ClusterChange, AMachineOfAnotherKindIsThatWhenItsJobsHaveLeft) {
  const JobNumber job = submit(spec(4));
  ASSERT_TRUE(becomes(job, "running"));
  world.set_cluster(cluster("2x4xA100"));
  ASSERT_TRUE(eventually([&] { return node(1).kind == "A100"; }));
  EXPECT_EQ(node(0).kind, "V100");
  EXPECT_EQ(node(0).state, "closed");
  ASSERT_TRUE(master->cancel(kAda, {job}));
  EXPECT_TRUE(eventually([&] { return node(0).kind == "A100"; }));
}

TEST_F(ClusterChange, AStartThatWasOrderedBeforeGoesToTheMachineOfThatName) {
  const JobNumber a = submit_that(spec(4), {.leaves_after = seconds(5)});
  const JobNumber b = submit_that(spec(4), {.leaves_after = seconds(5)});
  ASSERT_TRUE(becomes(a, "running") && becomes(b, "running"));
  const JobNumber trial = submit_that(spec(4, JobClass::trial), {});
  ASSERT_TRUE(eventually([&] { return state(a) == "draining" || state(b) == "draining"; }));
  at_once([&] {  // its room is complete, and has another id
    system.pass(seconds(6)), system.set_wall_clock_by(seconds(6));
    world.set_cluster(with_one_before());
  });
  ASSERT_TRUE(becomes(trial, "running"));
  expect_where_it_is(trial);
}

TEST_F(ClusterChange, WhatAJobGetsIsWhatTheYardCounts) {
  ASSERT_TRUE(master->close_machine(kOperator, "r0m0"));
  const MemoryScript again{.runs_for = minutes(5), .asks_requeue = true};
  const JobNumber a = submit_that(spec(2), again), b = submit_that(spec(2), again);
  ASSERT_TRUE(becomes(a, "running") && becomes(b, "running"));
  const Resources was = record(a).granted;
  Cluster larger = cluster("2x4xV100");
  larger.machines[0].capacity.milli_cpus *= 2;
  world.set_cluster(larger);
  ASSERT_TRUE(eventually([&] { return node(0).capacity == larger.machines[0].capacity; }));
  pass(minutes(5));
  ASSERT_TRUE(begins(a, 2) && begins(b, 2));
  ASSERT_TRUE(becomes(a, "running") && becomes(b, "running"));
  EXPECT_EQ(record(a).granted, was);
  begin();
  EXPECT_EQ(state(a), "running") << "both fit where they are";
  EXPECT_EQ(record(a).runs, 2U);
}

TEST_F(ClusterChange, AJobMayLeaveAndFitNoMoreInOneTurn) {
  world.set_cluster(cluster("1x4xV100"));
  ASSERT_TRUE(machines_become(1));
  const JobNumber job = submit_that(spec(4), {.leaves_after = seconds(5)});
  ASSERT_TRUE(becomes(job, "running"));
  submit(spec(2, JobClass::trial));
  ASSERT_TRUE(becomes(job, "draining"));
  world.set_cluster(cluster("1x2xV100"));
  ASSERT_TRUE(eventually([&] { return record(job).is_broken; }));
  pass(seconds(6));
  EXPECT_TRUE(becomes(job, "held"));
}

TEST_F(ClusterChange, OneThatCannotBeIsNotTakenOver) {
  const auto refused = [&](const Cluster& made, const std::string& why) {
    world.set_cluster(made);
    EXPECT_TRUE(eventually([&] { return system.log().count(LogLevel::error, why) == 1; })) << why;
    EXPECT_EQ(master->cluster(kOperator)->machines.size(), 2U);
    world.set_cluster(cluster("2x4xV100"));
    nudge();
  };
  refused({}, "there are no machines");
  refused(with_gpus(cluster("2x4xV100"), 1, -4), "machine r0m1 has -4 GPUs");
  Cluster twins = cluster("2x4xV100");
  twins.machines[1].name = "r0m0";
  refused(twins, "two machines are called r0m0");
  Cluster kind = cluster("2x4xV100");
  kind.machines[1].kind = KindId{7};
  refused(kind, "machine r0m1 is of a kind that is not named");
  Cluster rack = cluster("2x4xV100");
  rack.machines[1].rack = RackId{7};
  refused(rack, "machine r0m1 is in a rack that does not exist");
  Cluster bytes = cluster("2x4xV100");
  bytes.machines[1].name = "caf\xe9";
  refused(bytes, "is not UTF-8");
  EXPECT_TRUE(becomes(submit(spec(4)), "running"));
}

TEST_F(ClusterChange, ADaemonDoesNotBeginWithoutMachines) {
  master.reset();
  world.set_cluster({});
  engine = std::make_unique<MemoryEngine>(system, world);
  const auto started = Yardmaster::start(system, *journal, *engine, {});
  ASSERT_FALSE(started);
  EXPECT_EQ(started.error().message, "the engine's cluster cannot be used: there are no machines");
}

TEST_F(ClusterChange, OverARestartOnlyWhatHasNoPlaceAnyMoreHasToLeave) {
  const JobNumber a = submit_that(spec(4), {.leaves_after = seconds(20)});
  const JobNumber b = submit_that(spec(3), {.leaves_after = seconds(20)});
  ASSERT_TRUE(becomes(a, "running") && becomes(b, "running"));
  const std::size_t there = index(record(b).life.room.placement[0].machine);
  world.set_cluster(with_less_memory(cluster("2x4xV100"), there));
  ASSERT_TRUE(node_becomes(there, "closed"));
  begin();
  pass(seconds(1));
  EXPECT_EQ(state(a), "running") << "its machine is what it was";
  EXPECT_EQ(state(b), "held");
  EXPECT_TRUE(node_becomes(there, "closed"));
  last = b;
  const JobNumber c = submit_that(spec(2), {});
  begin();
  pass(seconds(1));
  EXPECT_EQ(state(c), "queued") << "processes still live where it would start";
  ASSERT_TRUE(master->cancel(kAda, {b}));
  pass(seconds(20));
  EXPECT_TRUE(becomes(c, "running"));
  EXPECT_EQ(record(a).runs, 1U);
}

TEST_F(ClusterChange, WhatIsSaidOfAMachineThatIsToComeIsRemembered) {
  down("r0m2");
  pass({});
  world.set_cluster(cluster("3x4xV100"));
  ASSERT_TRUE(machines_become(3));
  EXPECT_EQ(node(2).state, "down");
}

TEST_F(ClusterChange, AMachineThatAnOperatorClosedIsClosedWhenItComesBack) {
  ASSERT_TRUE(master->close_machine(kOperator, "r0m1"));
  master.reset();
  world.set_cluster(cluster("1x4xV100"));
  begin();
  world.set_cluster(cluster("2x4xV100"));
  ASSERT_TRUE(machines_become(2));
  EXPECT_EQ(node(1).state, "closed");
}

TEST_F(ClusterChange, ReportsAfterARestartMayComeByTheNumbersOfJobs) {
  world.set_cluster(cluster("1x2xV100"));
  ASSERT_TRUE(machines_become(1));
  world.choose_gpus();
  const JobNumber a = submit_that(spec(1), {.start_takes = minutes(10)});
  const JobNumber b = submit_that(spec(1), {.runs_for = minutes(5)});
  ASSERT_TRUE(begins(a) && becomes(b, "running"));
  master.reset();
  for (const Duration time : {minutes(5), minutes(6)}) {
    system.pass(time), system.set_wall_clock_by(time);
    (void)world.living({b, 1});
  }
  begin();
  EXPECT_TRUE(becomes(b, "done"));
  EXPECT_TRUE(becomes(a, "running"));
  EXPECT_EQ(record(a).runs, 1U) << "it has the GPU that the other had";
}

}  // namespace
}  // namespace trainyard
