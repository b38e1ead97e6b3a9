#include "bound/gangs.h"

#include <gtest/gtest.h>

#include "perf/catalogue_speed.h"

namespace trainyard {
namespace {

Job job_of(std::int64_t submit_s, std::int64_t duration_s, std::int32_t workers) {
  Job job;
  job.submit = Time{} + seconds(submit_s);
  job.duration = job.estimate = seconds(duration_s);
  job.workers = job.min_workers = job.max_workers = workers;
  return job;
}

std::vector<Gang> gangs_on(const Workload& workload, const char* shorthand) {
  const Cluster cluster = *parse_cluster_shorthand(shorthand);
  const CatalogueSpeed speed(cluster, workload, Catalogue::builtin());
  return gangs_of(workload, cluster, speed);
}

void expect_gang(const Gang& gang, const Gang& expected) {
  EXPECT_DOUBLE_EQ(gang.submit_s, expected.submit_s);
  EXPECT_DOUBLE_EQ(gang.ready_s, expected.ready_s);
  EXPECT_DOUBLE_EQ(gang.length_s, expected.length_s);
  EXPECT_DOUBLE_EQ(gang.gpus, expected.gpus);
}

TEST(Gangs, CountTimesFromTheFirstSubmission) {
  Workload workload;
  workload.jobs = {job_of(100, 10, 4), job_of(105, 20, 2)};
  workload.jobs[1].per_worker.gpus = 2;
  const std::vector<Gang> gangs = gangs_on(workload, "1x8xV100");
  ASSERT_EQ(gangs.size(), 2U);
  expect_gang(gangs[0], {0, 0, 10, 4});
  expect_gang(gangs[1], {5, 5, 20, 4});
}

TEST(Gangs, LeaveOutTheJobsWhoseTimesDoNotCount) {
  Workload workload;
  workload.jobs = {job_of(0, 10, 1), job_of(1, 20, 1), job_of(2, 30, 1)};
  workload.uncounted = 1;
  const std::vector<Gang> gangs = gangs_on(workload, "1x8xV100");
  ASSERT_EQ(gangs.size(), 1U);
  expect_gang(gangs[0], {1, 1, 20, 1});
}

TEST(Gangs, PayTheFirstLoadUnlessItIsInTheDuration) {
  Workload workload;
  workload.jobs = {job_of(0, 10, 1), job_of(0, 10, 1)};
  for (Job& job : workload.jobs) job.load = seconds(3);
  workload.jobs[1].first_start_loads = false;
  const std::vector<Gang> gangs = gangs_on(workload, "1x8xV100");
  EXPECT_DOUBLE_EQ(gangs[0].length_s, 13);
  EXPECT_DOUBLE_EQ(gangs[1].length_s, 10);
}

TEST(Gangs, PayForCheckpointsOrPausesInTheirPlace) {
  Workload workload;
  workload.jobs = {job_of(0, 30, 1), job_of(0, 31, 1), job_of(0, 30, 1)};
  for (Job& job : workload.jobs) {
    job.checkpoint_interval = seconds(10), job.checkpoint_cost = seconds(4);
    job.save = seconds(5);
  }
  workload.jobs[2].save = seconds(1);  // pausing costs less than a checkpoint
  const std::vector<Gang> gangs = gangs_on(workload, "1x8xV100");
  EXPECT_DOUBLE_EQ(gangs[0].length_s, 30 + 2 * 4);
  EXPECT_DOUBLE_EQ(gangs[1].length_s, 31 + 3 * 4);
  EXPECT_DOUBLE_EQ(gangs[2].length_s, 30 + 2 * 1);
}

TEST(Gangs, RunOnTheFastestKindThatTheyTake) {
  Workload workload;
  const KindId v100{static_cast<std::uint16_t>(workload.kinds.add("V100"))};
  workload.jobs = {job_of(0, 100, 1), job_of(0, 100, 1), job_of(0, 100, 1)};
  workload.jobs[0].measured_on = workload.jobs[1].measured_on = v100;
  workload.jobs[1].kind = v100;
  Cluster cluster = *parse_cluster_shorthand("1x8xV100");
  Machine fast;
  fast.capacity.gpus = 8;
  ASSERT_TRUE(cluster.add_machines(1, fast, "A100"));
  const CatalogueSpeed speed(cluster, workload, Catalogue::builtin());
  const double ratio =
      Catalogue::builtin().relative("V100") / Catalogue::builtin().relative("A100");
  ASSERT_LT(ratio, 1);
  const std::vector<Gang> gangs = gangs_of(workload, cluster, speed);
  EXPECT_DOUBLE_EQ(gangs[0].length_s, 100 * ratio);
  EXPECT_DOUBLE_EQ(gangs[1].length_s, 100) << "it takes V100 only";
  EXPECT_DOUBLE_EQ(gangs[2].length_s, 100) << "as fast everywhere";
}

TEST(Gangs, OfElasticJobsHaveTheLargestSizeThatFits) {
  Workload workload;
  workload.jobs = {job_of(0, 120, 2), job_of(0, 120, 2)};
  workload.jobs[0].max_workers = 6;
  workload.jobs[1].max_workers = 100;
  workload.jobs[1].load = seconds(3);
  const std::vector<Gang> gangs = gangs_on(workload, "1x8xV100");
  expect_gang(gangs[0], {0, 0, 40, 6});
  expect_gang(gangs[1], {0, 3, 30, 8});
}

}  // namespace
}  // namespace trainyard
