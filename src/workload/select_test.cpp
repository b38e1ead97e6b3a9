#include "workload/select.h"

#include <gtest/gtest.h>

namespace trainyard {
namespace {

Job job(std::int64_t submit_s, std::int64_t duration_s, std::int32_t gpus) {
  Job job;
  job.submit = Time{} + seconds(submit_s);
  job.duration = job.estimate = seconds(duration_s);
  job.workers = job.min_workers = job.max_workers = gpus;
  return job;
}

Workload three_jobs() {
  Workload workload;
  workload.jobs = {job(0, 100, 1), job(50, 100, 4), job(100, 20, 2)};
  workload.names = {"x", "y", "z"};
  return workload;
}

TEST(Select, DropsWhatDoesNotFitWithItsName) {
  Workload workload = three_jobs();
  EXPECT_EQ(drop_larger(parse_cluster_shorthand("1x3xV100").value(), workload), 1U);
  ASSERT_EQ(workload.jobs.size(), 2U);
  EXPECT_EQ(workload.names, (std::vector<std::string>{"x", "z"}));
  EXPECT_EQ(workload.jobs[1].gpus(), 2);
}

TEST(Select, KeepsTheFirst) {
  Workload workload = three_jobs();
  keep_first(7, workload);
  EXPECT_EQ(workload.jobs.size(), 3U);
  keep_first(2, workload);
  EXPECT_EQ(workload.jobs.size(), 2U);
  EXPECT_EQ(workload.names.size(), 2U);
}

TEST(Select, MarksShortSmallJobs) {
  Workload workload = three_jobs();
  EXPECT_EQ(mark_trials(seconds(100), 2, workload), 1U);
  EXPECT_EQ(workload.jobs[0].job_class, JobClass::batch);  // not shorter
  EXPECT_EQ(workload.jobs[2].job_class, JobClass::trial);
}

}  // namespace
}  // namespace trainyard
