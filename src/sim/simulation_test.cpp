#include "sim/simulation.h"

#include <gtest/gtest.h>

#include "yard/testing.h"

namespace trainyard {
namespace {

Job submitted(Duration at, Job job) {
  job.submit = Time{} + at;
  return job;
}

Workload of(std::vector<Job> jobs) {
  Workload workload;
  workload.jobs = std::move(jobs);
  return workload;
}

Result run(const Workload& workload, const std::string& policy, std::vector<Fault> faults = {},
           const std::string& cluster = "1x8xV100") {
  const Cluster c = *parse_cluster_shorthand(cluster);
  Simulation sim(c, workload, *PolicySpec::parse(policy), {.seed = 1, .faults = std::move(faults)});
  sim.run();
  EXPECT_EQ(sim.refused(), 0U);
  EXPECT_EQ(sim.next(), Time::never());
  return sim.result();
}

TEST(SimulationDelays, TheEngineStartsAndFreesGpusLater) {
  // The batch job starts at 2, gives way at 10 to the trial job, saves until 13, is gone at 14;
  // the trial job runs 16..26, and the batch job 28..120: 8 s of its 100 were done.
  const Workload workload = of({costly(gang(8, 1, seconds(100)), {}, seconds(3), {}),
                                submitted(seconds(10), trial(gang(8, 1, seconds(10))))});
  const Cluster cluster = *parse_cluster_shorthand("1x8xV100");
  Simulation sim(cluster, workload, *PolicySpec::parse("fitgpp", {"yard.min_run=0"}),
                 {.seed = 1, .delays = {seconds(2), seconds(1)}});
  sim.run();
  const Result r = sim.result();
  EXPECT_EQ(r.preemptions, 1U);
  EXPECT_DOUBLE_EQ(r.trial.jct_s.mean, 16);
  EXPECT_DOUBLE_EQ(r.batch.jct_s.mean, 120);
}

/// Three jobs of the whole machine, first come, first served. By hand, in seconds:
///   a  submitted  10, runs  10..110, JCT 100, wait   0, slowdown 1
///   b  submitted  20, runs 110..210, JCT 190, wait  90, slowdown 1.9
///   c  submitted  60, loads 210..220, runs 220..270, JCT 210, wait 150, slowdown 4.2
TEST(SimulationResult, ThreeJobsByHand) {
  const Workload workload =
      of({submitted(seconds(10), gang(8, 1, seconds(100))),
          submitted(seconds(20), trial(gang(4, 1, seconds(100)))),
          submitted(seconds(60), costly(gang(8, 1, seconds(50)), {}, {}, seconds(10)))});
  const Result r = run(workload, "fifo");
  EXPECT_EQ(r.policy, "fifo");
  EXPECT_EQ(r.jobs, 3U);
  EXPECT_EQ(r.finished, 3U);
  EXPECT_DOUBLE_EQ(r.makespan_s, 260);
  EXPECT_DOUBLE_EQ(r.all.jct_s.mean, (100 + 190 + 210) / 3.0);
  EXPECT_DOUBLE_EQ(r.all.jct_s.p50, 190);
  EXPECT_DOUBLE_EQ(r.all.jct_s.max, 210);
  EXPECT_DOUBLE_EQ(r.all.wait_s.mean, (0 + 90 + 150) / 3.0);
  EXPECT_DOUBLE_EQ(r.all.slowdown.mean, (1 + 1.9 + 4.2) / 3);
  EXPECT_EQ(r.trial.jobs, 1U);
  EXPECT_DOUBLE_EQ(r.trial.jct_s.mean, 190);
  EXPECT_EQ(r.batch.jobs, 2U);
  EXPECT_DOUBLE_EQ(r.batch.wait_s.mean, 75);
  EXPECT_EQ(r.preemptions, 0U);
  EXPECT_DOUBLE_EQ(r.lost_gpu_s, 10 * 8);
  EXPECT_DOUBLE_EQ(r.gpu_utilization, (100 * 8 + 100 * 4 + 60 * 8) / (8 * 260.0));
  const double speeds = 1 + 1 / 1.9 + 1 / 4.2;
  const double squares = 1 + 1 / (1.9 * 1.9) + 1 / (4.2 * 4.2);
  EXPECT_DOUBLE_EQ(r.fairness_jain, speeds * speeds / (3 * squares));
  EXPECT_EQ(r.events, 3U + 3U + 3U) << "submitted, loaded, finished";
  EXPECT_DOUBLE_EQ(r.utilization.share[0], 1) << "it starts with the first submission";
  EXPECT_DOUBLE_EQ(r.utilization.share[150], 0.5);
}

/// A pause by hand: b (10 s) comes 100 s into a (1000 s, 20 s grace, 30 s save, 5 s load).
///   a  loads 0..5, runs 5..100 (95 done), drains 100..150, waits while b loads 150..155 and runs
///      155..165, loads 165..170, runs the other 905 s: ends 1075
TEST(SimulationResult, APauseByHand) {
  const Workload workload =
      of({costly(gang(8, 1, seconds(1000)), seconds(20), seconds(30), seconds(5)),
          submitted(seconds(100), costly(gang(8, 1, seconds(10)), {}, {}, seconds(5)))});
  const Result r = run(workload, "srtf");
  EXPECT_DOUBLE_EQ(r.makespan_s, 1075);
  EXPECT_EQ(r.preemptions, 1U);
  EXPECT_DOUBLE_EQ(r.all.jct_s.max, 1075);
  EXPECT_DOUBLE_EQ(r.all.jct_s.p50, 65);
  EXPECT_DOUBLE_EQ(r.all.wait_s.mean, (15 + 50) / 2.0);
  EXPECT_DOUBLE_EQ(r.lost_gpu_s, 8 * (5 + 50 + 5 + 5));
}

/// Without costs the pause takes no time, and both happen within one instant.
TEST(SimulationResult, APauseThatCostsNothing) {
  const Workload workload =
      of({gang(8, 1, seconds(1000)), submitted(seconds(100), gang(8, 1, seconds(10)))});
  const Result r = run(workload, "srtf");
  EXPECT_DOUBLE_EQ(r.makespan_s, 1010);
  EXPECT_DOUBLE_EQ(r.all.slowdown.p50, 1);
  EXPECT_DOUBLE_EQ(r.lost_gpu_s, 0);
  EXPECT_DOUBLE_EQ(r.gpu_utilization, 1);
}

TEST(SimulationResult, AFailureByHand) {
  Job job = gang(8, 1, seconds(100));
  job.checkpoint_interval = seconds(30), job.checkpoint_cost = seconds(2);
  // Runs 0..50 (30 saved in 32 s, 18 more lost), down 50..80, runs the other 70 s and 2
  // checkpoints.
  const std::vector<Fault> faults{{Time{} + seconds(50), MachineId{0}, false},
                                  {Time{} + seconds(50), MachineId{0}, false},
                                  {Time{} + seconds(80), MachineId{0}, true},
                                  {Time{} + hours(9), MachineId{0}, false}};
  const Result r = run(of({job}), "fifo", faults);
  EXPECT_DOUBLE_EQ(r.makespan_s, 80 + 74);
  EXPECT_DOUBLE_EQ(r.all.wait_s.mean, 30);
  EXPECT_DOUBLE_EQ(r.lost_gpu_s, 8 * (20 + 4));
  EXPECT_EQ(r.failures.machines, 1U);
  EXPECT_EQ(r.failures.runs, 1U);
  EXPECT_DOUBLE_EQ(r.failures.lost_gpu_s, 8 * 18);
}

TEST(SimulationResult, AJobThatCannotRunIsLeftOver) {
  const std::vector<Fault> faults{{Time{} + seconds(50), MachineId{0}, false}};
  const Result r = run(of({gang(8), gang(8)}), "fifo", faults);
  EXPECT_EQ(r.finished, 0U);
  EXPECT_EQ(r.makespan_s, 0);
  EXPECT_EQ(r.all.jobs, 0U);
  EXPECT_EQ(r.gpu_utilization, 0);
}

TEST(SimulationResult, NoJobsIsNoTime) {
  const Result r = run(of({}), "las");
  EXPECT_EQ(r.jobs, 0U);
  EXPECT_EQ(r.events, 0U);
  EXPECT_EQ(r.fairness_jain, 0);
}

TEST(Simulation, JobsLongerThanTimeItselfDoNotEnd) {
  Job endless = gang(8, 1, hours(1));
  endless.checkpoint_interval = microseconds(1), endless.checkpoint_cost = kLongestDuration;
  EXPECT_EQ(run(of({endless}), "fifo").finished, 0U);
  const Result r = run(of(std::vector<Job>(40, gang(8, 1, kLongestDuration))), "las");
  EXPECT_EQ(r.finished, 29U) << "292,471 years are 29 times 10,000";
}

TEST(Simulation, StepsFromInstantToInstant) {
  const Cluster cluster = *parse_cluster_shorthand("1x8xV100");
  const Workload workload = of({submitted(seconds(5), gang(8, 1, seconds(10)))});
  Simulation sim(cluster, workload, *PolicySpec::parse("fifo"), {});
  EXPECT_EQ(sim.next(), Time{} + seconds(5));
  EXPECT_TRUE(sim.step());
  EXPECT_EQ(sim.yard().now(), Time{} + seconds(5));
  EXPECT_EQ(sim.next(), Time{} + seconds(15));
  EXPECT_TRUE(sim.step());
  EXPECT_FALSE(sim.step());
}

TEST(SimulationResult, TheFirstAndTheLastJobsMayBeLeftOutOfTheTimes) {
  Workload workload;
  for (const int hours_long : {9, 1, 1, 7}) workload.jobs.push_back(gang(1, 1, hours(hours_long)));
  workload.uncounted = 1;
  const Cluster cluster = *parse_cluster_shorthand("1x4xV100");
  Simulation simulation(cluster, workload, *PolicySpec::parse("fifo"), {});
  simulation.run();
  const Result result = simulation.result();
  EXPECT_EQ(result.finished, 4U);
  EXPECT_EQ(result.all.jobs, 2U);
  EXPECT_EQ(result.all.jct_s.max, 3600);
  EXPECT_EQ(result.makespan_s, 9 * 3600);
}

}  // namespace
}  // namespace trainyard
