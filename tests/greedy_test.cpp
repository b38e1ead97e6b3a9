// A user who calls every job a trial job gains nothing: on the workload of FitGpp's study, shared
// by ten users, of whom one is honest or greedy.
#include <gtest/gtest.h>

#include "base/stats.h"
#include "sim/simulation.h"
#include "workload/generate/generate.h"

namespace trainyard {
namespace {

constexpr UserId kGreedy{0};

struct Fared {
  double own_slowdown = 0, own_jct_s = 0;  // means, of the one user's jobs
  double others_trial_p95 = 0, others_batch_p95 = 0;
};

Fared run(const Cluster& cluster, Workload workload, const std::string& policy, bool greedy,
          const std::string& share) {
  const Workload honest = workload;
  if (greedy)
    for (Job& job : workload.jobs)
      if (job.user == kGreedy) job.job_class = JobClass::trial;
  const auto spec = PolicySpec::parse(policy, {"queue.trial_share=" + share});
  Simulation simulation(cluster, workload, *spec, {});
  simulation.run();
  std::vector<double> own, own_jct, trial, batch;
  for (std::uint32_t i = 0; i < workload.jobs.size(); ++i) {
    const Job& job = honest.jobs[i];
    const double jct = (simulation.yard().state(JobId{i}).end() - job.submit).seconds();
    const double slowdown = jct / job.duration.seconds();
    if (job.user == kGreedy) {
      own.push_back(slowdown);
      own_jct.push_back(jct);
    } else {
      (job.job_class == JobClass::trial ? trial : batch).push_back(slowdown);
    }
  }
  return {mean_interval(own).mean, mean_interval(own_jct).mean, percentile(trial, 0.95),
          percentile(batch, 0.95)};
}

class Greedy : public testing::TestWithParam<std::tuple<std::string, std::uint64_t>> {
 protected:
  Greedy()
      : cluster_(*parse_cluster_toml("[[rack]]\n[[rack.machine]]\ncount = 84\ngpus = 8\nkind = "
                                     "\"V100\"\ncpus = 32\nmemory = 256\n",
                                     "test")),
        workload_(*generate("trial-batch:jobs=16384,users=10", cluster_, std::get<1>(GetParam()))) {
  }

  [[nodiscard]] Fared run(bool greedy, const std::string& share) const {
    return trainyard::run(cluster_, workload_, policy(), greedy, share);
  }
  [[nodiscard]] std::string default_share() const {
    return PolicySpec::parse(policy())->params("queue").choice("trial_share");
  }
  [[nodiscard]] static std::string policy() { return std::get<0>(GetParam()); }

  Cluster cluster_;
  Workload workload_;
};

TEST_P(Greedy, GainsNothingByDefault) {
  const Fared honest = run(false, default_share()), greedy = run(true, default_share());
  EXPECT_GT(greedy.own_slowdown - 1, 1.2 * (honest.own_slowdown - 1));
  EXPECT_GT(greedy.own_jct_s, 0.95 * honest.own_jct_s);
  EXPECT_LT(greedy.others_trial_p95, 1.1 * honest.others_trial_p95);
  if (policy() == "fitgpp") {
    EXPECT_LT(greedy.others_batch_p95, 1.2 * honest.others_batch_p95);
  } else {  // it doubles, and stays below what honest users have under fitgpp
    EXPECT_LT(greedy.others_batch_p95, 5);
  }
}

/// Else the test above would show nothing.
TEST_P(Greedy, WouldGainWithoutTheLimit) {
  const Fared honest = run(false, "0"), greedy = run(true, "0");
  EXPECT_LT(greedy.own_slowdown - 1, 0.3 * (honest.own_slowdown - 1));
}

/// The limit costs an honest user nothing.
TEST_P(Greedy, TheHonestDoNotNoticeIt) {
  const Fared limited = run(false, default_share()), unlimited = run(false, "0");
  EXPECT_NEAR(limited.others_trial_p95, unlimited.others_trial_p95,
              0.05 * unlimited.others_trial_p95);
}

INSTANTIATE_TEST_SUITE_P(Seeds, Greedy,
                         testing::Combine(testing::Values("fitgpp", "trainyard"),
                                          testing::Values(1, 2, 3)));

}  // namespace
}  // namespace trainyard
