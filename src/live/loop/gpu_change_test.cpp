// GPUs that go, come, move and are exchanged, over a restart and while the daemon runs. A GPU is
// known by its name.
#include "live/loop/engine_reports_fixture.h"

namespace trainyard {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::UnorderedElementsAre;

using Names = std::vector<std::string>;

enum class When : std::uint8_t { while_it_runs, over_a_restart };

class GpuChange : public EngineReports, public testing::WithParamInterface<When> {
 protected:
  GpuChange() {
    world.set_cluster(one_machine({"a", "b", "c", "d"}));
    nudge();
    EXPECT_TRUE(eventually([&] { return master->cluster(kOperator)->machines.size() == 1; }));
  }

  static Cluster one_machine(const Names& gpus) {
    Cluster made = cluster("1x4xV100");
    made.set_gpus(MachineId{0}, gpus);
    return made;
  }
  /// The machine has these GPUs, and the daemon knows it.
  void change_to(const Names& gpus) {
    if (GetParam() == When::over_a_restart) master.reset();
    world.set_cluster(one_machine(gpus));
    if (GetParam() == When::over_a_restart) begin();
    pass(microseconds(1));
  }
  JobNumber run(std::int32_t gpus, const MemoryScript& script = {.leaves_after = seconds(20)}) {
    const JobNumber job = submit_that(spec(gpus), script);
    EXPECT_TRUE(becomes(job, "running"));
    return job;
  }
  Names gpus(JobNumber job) {
    const KeptRoom room = record(job).life.room;
    return room.gpus.empty() ? Names() : room.gpus[0];
  }
  JobNumber job_on(const std::string& gpu, const std::vector<JobNumber>& jobs) {
    for (const JobNumber job : jobs)
      if (const Names held = gpus(job); std::ranges::find(held, gpu) != held.end()) return job;
    return 0;
  }
  /// The engine has been told to stop its first run, and the grace runs.
  bool is_told(JobNumber job) {
    return eventually([&] {
      return std::ranges::any_of(world.runs(), [&](const MemoryWorld::Seen& run) {
        return run.id == RunId{job, 1} && run.was_told;
      });
    });
  }
  bool breaks(JobNumber job) {
    return eventually([&] { return record(job).is_broken; }) && is_told(job);
  }
  void expect_untouched(JobNumber job) {
    EXPECT_EQ(state(job), "running") << job;
    EXPECT_EQ(record(job).runs, 1U) << job;
    EXPECT_FALSE(record(job).is_broken) << job;
    EXPECT_EQ(world.living({job, 1}), 1U) << job;
  }
};

INSTANTIATE_TEST_SUITE_P(, GpuChange, testing::Values(When::while_it_runs, When::over_a_restart),
                         [](const auto& each) {
                           return each.param == When::while_it_runs ? "WhileItRuns"
                                                                    : "OverARestart";
                         });

TEST_P(GpuChange, OneThatIsGoneEndsItsOwnJobAlone) {
  const std::vector<JobNumber> jobs{run(1), run(1), run(1), run(1)};
  const JobNumber hit = job_on("b", jobs);
  change_to({"d", "a", "c"});
  ASSERT_TRUE(breaks(hit));
  EXPECT_THAT(record(hit).reason, HasSubstr("GPU b of machine r0m0 is gone"));
  for (const JobNumber job : jobs)
    if (job != hit) expect_untouched(job);
  pass(seconds(20));
  ASSERT_TRUE(becomes(hit, "queued"));
  EXPECT_TRUE(eventually([&] { return node(0).capacity.gpus == 3; }));
  for (const JobNumber job : jobs)
    if (job != hit) expect_untouched(job);
  const JobNumber first = job_on("a", jobs);
  ASSERT_TRUE(master->cancel(kAda, {first}));
  ASSERT_TRUE(is_told(first));
  pass(seconds(20));
  EXPECT_TRUE(becomes(hit, "running"));
  EXPECT_THAT(gpus(hit), ElementsAre("a"));
}

TEST_P(GpuChange, TheOthersOfAGangAreNotGivenAwayBeforeItHasLeft) {
  const JobNumber gang = run(2), other = run(1);
  const Names held = gpus(gang);
  ASSERT_EQ(held.size(), 2U);
  Names left;
  for (const char* gpu : {"d", "c", "b", "a"})
    if (gpu != held[0]) left.emplace_back(gpu);
  change_to(left);
  ASSERT_TRUE(breaks(gang));
  const JobNumber next = submit_that(spec(2), {});
  pass(seconds(10));
  EXPECT_EQ(state(next), "queued") << "one is free, and the gang has the other still";
  expect_untouched(other);
  ASSERT_TRUE(master->cancel(kAda, {gang}));
  pass(seconds(10));
  ASSERT_TRUE(becomes(next, "running"));
  EXPECT_THAT(gpus(next), testing::Contains(held[1]));
  expect_untouched(other);
}

TEST_P(GpuChange, AnotherOrderChangesNothing) {
  const std::vector<JobNumber> jobs{run(2), run(1)};
  const Names first = gpus(jobs[0]), second = gpus(jobs[1]);
  change_to({"d", "c", "b", "a"});
  pass(minutes(1));
  for (const JobNumber job : jobs) expect_untouched(job);
  EXPECT_THAT(gpus(jobs[0]), UnorderedElementsAre(first[0], first[1]));
  EXPECT_EQ(gpus(jobs[1]), second);
  run(1);  // the one that is free: the world would tell of any other
}

/// The first keeps its CPUs, half of them: three of six GPUs are the other half.
TEST_P(GpuChange, OnesThatComeAreUsed) {
  const JobNumber first = run(2);
  const Names held = gpus(first);
  const JobNumber next = submit_that(spec(3), {});
  change_to({"new", "d", "c", "b", "a", "newer"});
  ASSERT_TRUE(becomes(next, "running"));
  EXPECT_EQ(gpus(next).size(), 3U);
  for (const std::string& gpu : held) EXPECT_THAT(gpus(next), testing::Not(testing::Contains(gpu)));
  expect_untouched(first);
}

TEST_P(GpuChange, AllAreExchanged) {
  const std::vector<JobNumber> jobs{run(2), run(2)};
  change_to({"e", "f"});
  for (const JobNumber job : jobs) ASSERT_TRUE(breaks(job));
  pass(seconds(20));
  ASSERT_TRUE(eventually([&] { return node(0).capacity.gpus == 2; }));
  EXPECT_TRUE(
      eventually([&] { return state(jobs[0]) == "running" || state(jobs[1]) == "running"; }));
}

TEST_P(GpuChange, OneThatComesBackWhileItsRunLeavesIsUsedAgain) {
  const JobNumber job = run(4);
  change_to({"a", "b", "c"});
  ASSERT_TRUE(breaks(job));
  change_to({"a", "b", "c", "d"});
  EXPECT_TRUE(record(job).is_broken) << "it was told to leave";
  pass(seconds(20));
  EXPECT_TRUE(eventually([&] { return record(job).runs == 2; }));
  EXPECT_TRUE(becomes(job, "running"));
}

TEST_P(GpuChange, ARunThatHadEndedIsNotBegunAgain) {
  const JobNumber job = run(1, {.runs_for = minutes(5)});
  if (GetParam() == When::over_a_restart) master.reset();
  system.pass(minutes(6)), system.set_wall_clock_by(minutes(6));
  (void)world.living({job, 1});
  world.set_cluster(one_machine({"e"}));
  if (GetParam() == When::over_a_restart) begin();
  pass(microseconds(1));
  EXPECT_TRUE(becomes(job, "done"));
  EXPECT_EQ(record(job).runs, 1U);
}

TEST_P(GpuChange, StandInsAreNoGpus) {
  change_to({"0", "1"});  // as stand-ins are called
  const JobNumber job = run(1);
  change_to({"GPU-0", "GPU-1"});
  ASSERT_TRUE(breaks(job));
  pass(seconds(20));
  EXPECT_TRUE(eventually([&] { return record(job).runs == 2; }));
  EXPECT_TRUE(becomes(job, "running"));
}

/// As nodes of Slurm have them.
TEST_P(GpuChange, ThoseWithoutNamesAreKnownByTheirNumbers) {
  world.set_cluster(cluster("1x4xV100"));
  nudge();
  ASSERT_TRUE(eventually([&] { return node(0).gpu_names.empty(); }));
  const std::vector<JobNumber> jobs{run(1), run(1), run(1), run(1)};
  const std::vector<JobNumber> stay{job_on("0", jobs), job_on("1", jobs)};
  if (GetParam() == When::over_a_restart) master.reset();
  world.set_cluster(with_gpus(cluster("1x4xV100"), 0, 2));
  if (GetParam() == When::over_a_restart) begin();
  pass(microseconds(1));
  for (const JobNumber job : jobs)
    if (std::ranges::find(stay, job) == stay.end()) {
      EXPECT_TRUE(breaks(job));
    }
  pass(seconds(20));
  EXPECT_TRUE(eventually([&] { return node(0).capacity.gpus == 2; }));
  EXPECT_EQ(node(0).state, "up");
  for (const JobNumber job : stay) expect_untouched(job);
}

TEST_P(GpuChange, AllAreGone) {
  const JobNumber job = run(1);
  change_to({});
  ASSERT_TRUE(breaks(job));
  pass(seconds(20));
  ASSERT_TRUE(becomes(job, "held"));
  change_to({"a"});
  EXPECT_TRUE(becomes(job, "running"));
}

TEST_P(GpuChange, OneThatIsKeptForItsJobIsNotOfferedToNewOnes) {
  const JobNumber job = run(4);
  change_to({"a", "b"});
  ASSERT_TRUE(breaks(job));
  const auto refused = master->submit(kAda, spec(3));
  ASSERT_FALSE(refused) << "two are left";
  EXPECT_THAT(refused.error().message, HasSubstr("could never run here"));
  EXPECT_TRUE(master->submit(kAda, spec(2)));
}

}  // namespace
}  // namespace trainyard
