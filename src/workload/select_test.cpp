#include "workload/select.h"

#include <gtest/gtest.h>

#include "workload/testing.h"

namespace trainyard {
namespace {

TEST(Select, DropsTheWaitsOfLargerJobsWithThem) {
  Workload workload;
  workload.jobs = {job_of(0, 10, 1), job_of(1, 10, 64), job_of(2, 10, 2)};
  std::vector<Duration> waits{seconds(5), seconds(6), seconds(7)};
  EXPECT_EQ(drop_larger(parse_cluster_shorthand("1x8xV100").value(), workload, &waits), 1U);
  EXPECT_EQ(waits, (std::vector<Duration>{seconds(5), seconds(7)}));
}

TEST(Select, DropsWhatDoesNotFitWithItsNameAndCurve) {
  Workload workload = three_jobs();
  for (const double limit : {0.7, 0.8, 0.9}) workload.curves.push_back({.formula = {limit, 9, 2}});
  EXPECT_EQ(drop_larger(parse_cluster_shorthand("1x3xV100").value(), workload), 1U);
  ASSERT_EQ(workload.jobs.size(), 2U);
  EXPECT_EQ(workload.names, (std::vector<std::string>{"x", "z"}));
  EXPECT_EQ(workload.jobs[1].gpus(), 2);
  ASSERT_EQ(workload.curves.size(), 2U);
  EXPECT_EQ(workload.curves[1].limit(), 0.9);
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
