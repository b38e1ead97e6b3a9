// Jobs that were born elsewhere, and come at a bad moment or badly written.
#include "live/loop/engine_reports_fixture.h"

namespace trainyard {
namespace {

using testing::HasSubstr;

class BirthsTest : public EngineReports {
 protected:
  /// A job of ours is being started for ten minutes, and holds GPUs of this machine.
  MachineId one_starts(std::int32_t gpus, const std::string& fails = "") {
    const JobNumber ours =
        submit_that(spec(gpus), {.start_takes = minutes(10), .start_fails = fails});
    EXPECT_TRUE(begins(ours));
    return world.places({ours, 1})[0].machine;
  }
  bool is_known(JobNumber job) {
    return eventually([&] { return master->job(kOperator, job).has_value(); });
  }
};

TEST_F(BirthsTest, OneThatWaitsForItsPlaceGetsItWhereItRunsInAnotherCluster) {
  const MachineId there = one_starts(4, "taken");
  JobSpec outside;
  outside.grace = hours(1);
  world.bear({"slurm-9", kBob, outside, {{there, {0, 1, 2, 3}}}});
  ASSERT_TRUE(becomes(2, "held"));
  world.set_cluster(with_one_before());
  ASSERT_TRUE(machines_become(3));
  pass(minutes(10));
  ASSERT_TRUE(becomes(2, "running"));
  expect_where_it_is(2);
}

TEST_F(BirthsTest, OneThatEndsWithoutHavingGotItsPlaceHasEnded) {
  const MachineId there = one_starts(4);
  world.bear({"slurm-9", kBob, {}, {{there, {0}}}}, {.runs_for = minutes(1)});
  world.bear({"slurm-10", kBob, {}, {{there, {1}}}}, {.runs_for = minutes(1), .exit_status = 3});
  ASSERT_TRUE(becomes(2, "held") && becomes(3, "held"));
  pass(minutes(2));
  EXPECT_TRUE(becomes(2, "done"));
  EXPECT_TRUE(becomes(3, "failed"));
  EXPECT_EQ(record(2).runs, 1U) << "it is not ours to run again";
}

TEST_F(BirthsTest, OneThatWaitsForItsPlaceIsNotStoppedWhenTheClusterChanges) {
  const MachineId there = one_starts(4);
  world.bear({"slurm-9", kBob, {}, {{there, {0}}}});
  ASSERT_TRUE(becomes(2, "held"));
  world.set_cluster(cluster("3x4xV100"));
  ASSERT_TRUE(machines_become(3));
  pass({});
  pass({});
  EXPECT_EQ(world.living({2, 1}), 1U);
}

TEST_F(BirthsTest, WhereOneWaitsForItsPlaceNothingElseStarts) {
  const MachineId there = one_starts(2);
  world.bear({"slurm-9", kBob, {}, {{there, {1, 2}}}});
  ASSERT_TRUE(becomes(2, "held"));
  EXPECT_TRUE(node_becomes(index(there), "closed"));
  const JobNumber c = submit(spec(2)), d = submit(spec(2)), e = submit(spec(2));
  ASSERT_TRUE(becomes(c, "running") && becomes(d, "running"));
  EXPECT_EQ(state(e), "queued") << "one of its GPUs is free only for the yard";
}

TEST_F(BirthsTest, OneWithoutEnoughMemoryLeftHoldsItsGpus) {
  world.set_cluster(cluster("1x4xV100"));
  ASSERT_TRUE(machines_become(1));
  JobSpec big = spec(1);
  big.per_worker.memory_mib = node(0).capacity.memory_mib - 100;
  big.per_worker.milli_cpus = 1000;
  ASSERT_TRUE(becomes(submit(big), "running"));
  world.bear({"slurm-9", kBob, {}, {{MachineId{0}, {3}}}});
  ASSERT_TRUE(becomes(2, "running"));
  EXPECT_EQ(node(0).by_gpu[3], 2);
  EXPECT_EQ(record(2).granted.memory_mib, 100);
}

TEST_F(BirthsTest, TextThatIsNotUtf8IsReplaced) {
  JobSpec born = spec(1);
  born.name = "caf\xe9";
  born.environment = {{"A", "\xff"}};
  world.bear({"slurm-9", kBob, born, {}});
  EXPECT_TRUE(becomes(1, "running"));
  EXPECT_EQ(record(1).spec.name, "caf\xef\xbf\xbd");
  begin();
  EXPECT_EQ(state(1), "running");
}

TEST_F(BirthsTest, OneThatCannotBeReadFailsAndTheNextStartSucceeds) {
  JobSpec nowhere = spec(1), none = spec(1);
  nowhere.directory = "";
  none.workers = 0, none.exclusive = true;
  world.bear({"slurm-1", kBob, nowhere, {}});
  world.bear({"slurm-2", kBob, none, {}});
  EXPECT_TRUE(becomes(1, "failed") && becomes(2, "failed"));
  EXPECT_THAT(record(1).reason, HasSubstr("it cannot be run: directory"));
  EXPECT_THAT(record(2).reason, HasSubstr("it cannot be run: workers"));
  world.bear({"slurm-3", kBob, nowhere, {{MachineId{0}, {0}}}});
  EXPECT_TRUE(becomes(3, "running")) << "it runs all the same, outside of our control";
  begin();
  EXPECT_EQ(state(3), "running");
}

TEST_F(BirthsTest, OneThatRunsWithoutGpusIsKnownAndKeepsNobodyWaiting) {
  world.bear({"slurm-9", kBob, {}, {{MachineId{0}, {}}}}, {.runs_for = hours(1)});
  ASSERT_TRUE(is_known(1));
  begin();
  EXPECT_EQ(node(0).state, "up");
  pass(hours(1));
  EXPECT_TRUE(becomes(1, "done"));
}

TEST_F(BirthsTest, AWithdrawalThatTheDaemonDidNotKeepIsSaidAgain) {
  down("r0m0"), down("r0m1");
  world.bear({"slurm-17", kBob, spec(2), {}});
  ASSERT_TRUE(becomes(1, "queued"));
  master.reset();
  world.withdraw("slurm-17");
  (void)engine->poll();  // it was heard, and the daemon was killed before it was on disk
  up("r0m0");
  begin();
  EXPECT_TRUE(becomes(1, "cancelled"));
  EXPECT_EQ(record(1).runs, 0U);
}

/// Jobs of all ways in share a user's budget; only what runs already has to be taken.
TEST_F(BirthsTest, OneThatWaitsIsRefusedWhereItsUserHasNoMemoryLeft) {
  memory = 3 * memory_of(spec());
  begin();
  world.bear({"slurm-1", kBob, spec(), {}});
  ASSERT_TRUE(becomes(1, "running"));
  world.bear({"slurm-2", kBob, spec(), {}});
  EXPECT_TRUE(becomes(2, "failed"));
  EXPECT_THAT(record(2).reason, HasSubstr("it is not taken: your jobs that have not ended take"));
  world.bear({"slurm-3", kBob, spec(), {{MachineId{0}, {3}}}});
  EXPECT_TRUE(becomes(3, "running"));
}

TEST_F(BirthsTest, OneThatIsReportedAgainBeforeItIsOnDiskIsOneJob) {
  system.fail_at("journal.commit", "database or disk is full");
  for (int i = 0; i < 3; ++i) {
    world.bear({"slurm-9", kBob, {}, {{MachineId{0}, {0}}}});
    world.wake();
    nudge();
  }
  system.heal();
  EXPECT_TRUE(becomes(1, "running"));
  EXPECT_FALSE(master->job(kOperator, 2));
}

}  // namespace
}  // namespace trainyard
