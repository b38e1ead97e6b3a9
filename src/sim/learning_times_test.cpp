#include "sim/learning_times.h"

#include <gtest/gtest.h>

#include "sim/simulation.h"

namespace trainyard {
namespace {

/// Jobs of an hour with one GPU each, that have 95% of their accuracy after a quarter of it.
Workload learners(std::size_t jobs) {
  Workload workload;
  for (std::size_t i = 0; i < jobs; ++i) {
    Job job;
    job.duration = job.estimate = hours(1);
    job.iterations = 3600;
    workload.jobs.push_back(job);
    workload.curves.push_back(*make_learning_curve(0.9, 0.1, 0.25));
  }
  return workload;
}

LearningResult learn(const Workload& workload, const char* cluster) {
  const Cluster machines = *parse_cluster_shorthand(cluster);
  Simulation simulation(machines, workload, *PolicySpec::parse("fifo", {}), {});
  simulation.run();
  return simulation.result().learning;
}

TEST(LearningTimes, AreThoseOfTheCurve) {
  const Workload workload = learners(1);
  const LearningResult found = learn(workload, "1x1xV100");
  EXPECT_EQ(found.jobs, 1U);
  EXPECT_NEAR(found.to_95_s.mean, 900, 0.01);
  EXPECT_NEAR(found.to_90_s.mean, 3600 * workload.curves[0].share_to(0.9), 0.01);
  EXPECT_NEAR(found.late_slowdown.mean, 1, 1e-6);
  ASSERT_EQ(found.accuracy.size(), 101U);
  EXPECT_NEAR(found.accuracy[25], 0.95, 0.001);
  EXPECT_NEAR(found.accuracy[100], 1, 0.001);
}

TEST(LearningTimes, CountFromSubmission) {
  const LearningResult found = learn(learners(2), "1x1xV100");
  EXPECT_EQ(found.jobs, 2U);
  EXPECT_NEAR(found.to_95_s.max, 3600 + 900, 0.01) << "it waits for the first";
  ASSERT_EQ(found.by_job.size(), 2U);
  EXPECT_EQ(found.by_job[1].job, JobId{1});
  EXPECT_NEAR(found.by_job[1].to_95_s, 3600 + 900, 0.01);
}

TEST(LearningTimes, NoneWithoutCurves) {
  Workload workload = learners(1);
  workload.curves.clear();
  EXPECT_EQ(learn(workload, "1x1xV100").jobs, 0U);
}

/// Every hundredth of the work but the last, noise and all the same for a seed.
TEST(LearningTimes, JobsTellTheirAccuracyAfterEachHundredth) {
  struct Told final : YardListener {
    void on_phase(JobId, Phase, Phase) override {}
    void on_learnt(JobId, const LearningPoint& point) override { points.push_back(point); }
    std::vector<LearningPoint> points;
  };
  Workload workload = learners(1);
  workload.curve_noise = 0.05;
  const Cluster machine = *parse_cluster_shorthand("1x1xV100");
  const auto told = [&](std::uint64_t seed) {
    Told listener;
    Simulation simulation(machine, workload, *PolicySpec::parse("fifo", {}), {.seed = seed});
    simulation.listen(listener);
    simulation.run();
    return listener.points;
  };
  const std::vector<LearningPoint> points = told(1);
  ASSERT_EQ(points.size(), 99U);
  double off = 0;
  for (std::size_t i = 0; i < points.size(); ++i) {
    EXPECT_NEAR(points[i].step, 36.0 * static_cast<double>(i + 1), 0.01);
    off += std::abs(points[i].accuracy / workload.curves[0].at(points[i].step / 3600) - 1);
  }
  EXPECT_NEAR(off / 99, 0.04, 0.015) << "the mean of |N(0, 0.05)| is 0.0399";
  EXPECT_EQ(told(1), points);
  EXPECT_NE(told(2), points);
}

}  // namespace
}  // namespace trainyard
