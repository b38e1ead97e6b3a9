// Machines that differ in features, shares and GPUs: which of them jobs get, and what of each, also
// where machines change and over a restart of the daemon.
#include "live/loop/engine_reports_fixture.h"

namespace trainyard {
namespace {

/// r0m0: 4 GPUs, 16 CPUs. r0m1: 4 GPUs, 64 CPUs, ib.
Cluster mixed_machines() {
  Cluster made = *parse_cluster_shorthand("2x4xV100");
  made.machines[0].capacity.milli_cpus = 16'000;
  made.machines[1].capacity.milli_cpus = 64'000;
  made.machines[1].features = {"ib"};
  return made;
}

class MixedMachines : public EngineReports {
 protected:
  MixedMachines() {
    world.set_cluster(mixed_machines());
    EXPECT_TRUE(eventually([&] { return node(1).capacity.milli_cpus == 64'000; }));
  }

  static JobSpec asking_for(const std::string& constraint, JobSpec job) {
    job.constraint = constraint;
    return job;
  }
  /// Where its workers run, and what each has: "r0m1 16".
  std::string where(JobNumber job) {
    for (const MemoryWorld::Seen& run : world.runs())
      if (run.id == record(job).run() && run.lives) return describe(run);
    return "nowhere";
  }
  static std::string describe(const MemoryWorld::Seen& run) {
    std::string text;
    for (std::size_t i = 0; i < run.places.size(); ++i)
      text += fmt::format("{}r0m{} {}", i == 0 ? "" : ", ", index(run.places[i].machine),
                          run.grants[i].milli_cpus / 1000);
    return text;
  }
};

TEST_F(MixedMachines, AJobGoesWhereItsConstraintHoldsAndHasTheShareOfThatMachine) {
  const JobNumber any = submit(spec(1)), ib = submit(asking_for("ib", spec(1)));
  ASSERT_TRUE(becomes(any, "running") && becomes(ib, "running"));
  EXPECT_EQ(where(any), "r0m0 4");
  EXPECT_EQ(where(ib), "r0m1 16");
  const JobNumber two = submit(asking_for("ib", spec(2))),
                  third = submit(asking_for("ib", spec(2)));
  ASSERT_TRUE(becomes(two, "running"));
  EXPECT_EQ(state(third), "queued") << "beside a free machine that it may not have";
  const auto why = master->why(kAda, third);
  ASSERT_TRUE(why);
  EXPECT_THAT(why->reason.sentence,
              testing::HasSubstr("needs 2 GPUs on one machine with 'ib'; 1 free"));
}

TEST_F(MixedMachines, AGangHasTheShareOfEachOfItsMachines) {
  JobSpec gang = spec(1);
  gang.workers = 5;
  const JobNumber job = submit(gang);
  ASSERT_TRUE(becomes(job, "running"));
  EXPECT_EQ(where(job), "r0m0 4, r0m0 4, r0m0 4, r0m0 4, r0m1 16");
  EXPECT_EQ(record(job).granted.milli_cpus, 4'000) << "the least";
  EXPECT_EQ(node(1).free.milli_cpus, 48'000);
}

TEST_F(MixedMachines, WhatNoMachineHasIsRefusedWithWhatTheyHave) {
  const auto refused = master->submit(kAda, asking_for("nvlink", spec(1)));
  ASSERT_FALSE(refused);
  EXPECT_EQ(
      refused.error().message,
      "this job could never run here: it asks for a machine with 'nvlink', and none has that: "
      "r0m0 has v100; r0m1 has v100, ib");
}

TEST_F(MixedMachines, WhatRunsKeepsItsShareAndTheNextRunHasTheNewOne) {
  const MemoryScript again{.runs_for = minutes(5), .asks_requeue = true};
  const JobNumber job = submit_that(asking_for("ib", spec(1)), again);
  ASSERT_TRUE(becomes(job, "running"));
  Cluster changed = mixed_machines();
  changed.machines[1].capacity.milli_cpus = 128'000;
  world.set_cluster(changed);
  ASSERT_TRUE(eventually([&] { return node(1).capacity.milli_cpus == 128'000; }));
  EXPECT_EQ(node(1).free.milli_cpus, 112'000);
  begin();
  EXPECT_EQ(state(job), "running");
  EXPECT_EQ(node(1).free.milli_cpus, 112'000) << "after a restart, too";
  pass(minutes(5));
  ASSERT_TRUE(begins(job, 2));
  ASSERT_TRUE(becomes(job, "running"));
  EXPECT_EQ(where(job), "r0m1 32");
}

TEST_F(MixedMachines, AFeatureThatIsGoneKeepsWhatRunsAndHoldsWhatWaits) {
  const JobNumber job = submit(asking_for("ib", spec(4))), next = submit(asking_for("ib", spec(4)));
  ASSERT_TRUE(becomes(job, "running"));
  Cluster changed = mixed_machines();
  changed.machines[1].features.clear();
  world.set_cluster(changed);
  ASSERT_TRUE(becomes(next, "held"));
  EXPECT_EQ(state(job), "running");
  ASSERT_TRUE(master->cancel(kAda, {job}));
  ASSERT_TRUE(becomes(job, "cancelled"));
  EXPECT_EQ(state(next), "held");
  changed.machines[0].features = {"ib"};
  world.set_cluster(changed);
  ASSERT_TRUE(becomes(next, "running"));
  EXPECT_EQ(where(next), "r0m0 16");
}

TEST_F(MixedMachines, ARoomThatIsBeingMadeIsGivenUpWhereItMayNotBeUsedAnyMore) {
  const JobNumber batch = submit_that(spec(4), {.leaves_after = seconds(5)});
  const JobNumber other = submit_that(spec(4), {.leaves_after = seconds(5)});
  ASSERT_TRUE(becomes(batch, "running") && becomes(other, "running"));
  const JobNumber trial = submit(asking_for("ib", spec(4, JobClass::trial)));
  ASSERT_TRUE(eventually([&] { return state(trial) == "reserved"; }));
  Cluster changed = mixed_machines();
  std::swap(changed.machines[0].features, changed.machines[1].features);
  world.set_cluster(changed);
  ASSERT_TRUE(eventually([&] {
    pass(seconds(6));
    return state(trial) == "running";
  }));
  EXPECT_EQ(where(trial), "r0m0 16");
}

TEST_F(MixedMachines, AWholeMachineIsSharedByItsWorkers) {
  Cluster changed = mixed_machines();
  changed.machines[0].capacity.gpus = 2;
  changed.total_gpus = 6;
  world.set_cluster(changed);
  ASSERT_TRUE(eventually([&] { return node(0).capacity.gpus == 2; }));
  JobSpec whole = spec(1);
  whole.exclusive = true;
  whole.workers = 2;
  const JobNumber small = submit(whole), large = submit(whole);
  ASSERT_TRUE(becomes(small, "running") && becomes(large, "running"));
  EXPECT_EQ(where(small), "r0m0 8, r0m0 8");
  EXPECT_EQ(where(large), "r0m1 32, r0m1 32");
  EXPECT_EQ(node(1).free.gpus, 0);
  begin();
  EXPECT_EQ(state(large), "running");
  EXPECT_EQ(node(1).free, Resources{});
}

}  // namespace
}  // namespace trainyard
