// Made-up runs for the unit tests of this folder: numbers that look like a simulation's and depend
// on policy and seed alone.
#pragma once

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "base/random.h"
#include "base/stats.h"
#include "study/compare.h"

namespace trainyard {

struct SampleJobs {
  std::vector<double> jct_s, wait_s, slowdown;

  void add(Random& random, double mean_wait_s, double duration_s) {
    const double wait = random.uniform() < 0.3 ? 0 : random.exponential(mean_wait_s);
    wait_s.push_back(wait);
    jct_s.push_back(wait + duration_s);
    slowdown.push_back((wait + duration_s) / duration_s);
  }

  JobTimes times() {
    return {jct_s.size(), summarize(std::span(jct_s)), summarize(std::span(wait_s)),
            summarize(std::span(slowdown))};
  }
  JobDistributions distributions() {
    return {distribution_of(jct_s), distribution_of(wait_s), distribution_of(slowdown)};
  }
};

struct SampleOptions {
  std::size_t jobs = 500;
  double trial_share = 0.3;
};

inline UtilizationSeries sample_utilization(Random& random, double makespan_s) {
  UtilizationSeries series{seconds(static_cast<std::int64_t>(makespan_s / 300) + 1), {}};
  for (int i = 0; i < 300; ++i) {
    const double daily = 0.7 + 0.25 * std::sin(i / 20.0) + 0.05 * random.uniform();
    series.share.push_back(daily * (i > 280 ? (300 - i) / 20.0 : 1));
  }
  return series;
}

/// A policy with a longer name makes jobs wait longer.
inline Run sample_run(const std::string& policy, std::uint64_t seed, SampleOptions options = {}) {
  Random random(seed, policy.size());
  SampleJobs all, trial, batch;
  for (std::size_t i = 0; i < options.jobs; ++i) {
    const bool is_trial = random.uniform() < options.trial_share;
    const double duration_s = random.lognormal(is_trial ? 5 : 9, 1);
    const double mean_wait_s = (is_trial ? 60.0 : 1800.0) * static_cast<double>(policy.size());
    Random same = random;
    all.add(same, mean_wait_s, duration_s);
    (is_trial ? trial : batch).add(random, mean_wait_s, duration_s);
  }
  Run run;
  run.all = all.distributions(), run.trial = trial.distributions();
  run.batch = batch.distributions();
  Result& r = run.result;
  r.policy = policy, r.seed = seed, r.jobs = r.finished = options.jobs;
  r.all = all.times(), r.trial = trial.times(), r.batch = batch.times();
  r.makespan_s = r.all.jct_s.max + 86'400;
  r.preemptions = random.below(1000);
  r.lost_gpu_s = random.exponential(1e5);
  r.gpu_utilization = random.uniform(0.6, 0.9);
  r.fairness_jain = random.uniform(0.3, 0.9);
  r.events = 3 * options.jobs, r.decisions = 2 * options.jobs;
  r.utilization = sample_utilization(random, r.makespan_s);
  return run;
}

inline Comparison sample_comparison(std::vector<std::string> policies,
                                    std::vector<std::uint64_t> seeds, SampleOptions options = {},
                                    int threads = 1) {
  CompareOptions compare{std::move(policies), seeds, threads};
  auto runs = run_all(compare, [&](const std::string& policy, std::uint64_t seed) -> Expected<Run> {
    return sample_run(policy, seed, options);
  });
  return {"sample trace", "2 machines", "trainyard compare", seeds, std::move(*runs)};
}

}  // namespace trainyard
