// For tests: a small study that runs in milliseconds.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "study/reproduce/findings.h"
#include "study/reproduce/runner.h"
#include "study/study.h"

namespace trainyard {

inline std::function<double(const Outcome&)> sample_saving(std::string policy) {
  return [policy](const Outcome& o) {
    return 1 - o.metric(policy, "jct_s.mean") / o.metric("fifo", "jct_s.mean");
  };
}

/// Three policies and two sweeps: over the load (all policies), and over a setting of one.
inline Study sample_study() {
  Study study;
  study.name = "sample";
  study.title = "A sample of a study";
  study.paper = "A. Author: On samples. 2020";
  study.summary = {"What the paper says."};
  study.assumptions = {"What we chose."};
  study.full = {200, 3};
  study.quick = {50, 2};
  study.base = {"base",
                "poisson:jobs={jobs},load=0.9,trial=0.3,gpus=1:0.8/4:0.2",
                "2x4xV100",
                {{"fifo", "fifo"}, {"srtf", "srtf"}, {"las", "las", {"order.thresholds=1h"}}}};
  study.measures = {{"srtf", "saved by srtf", Quantity::share, sample_saving("srtf")},
                    {"las", "saved by las", Quantity::share, sample_saving("las")},
                    {"wait", "mean wait under fifo", Quantity::seconds,
                     [](const Outcome& o) { return o.metric("fifo", "wait_s.mean"); }}};
  study.claims = {{"some", "It saves something", "abstract", "srtf", Direction::at_least, 0.0},
                  {"much", "It saves 99%", "table 1", "srtf", Direction::at_least, 0.99},
                  {"peak", "Up to 1% is saved", "figure 2", "srtf", Direction::at_least, 0.01,
                   TakenAt::largest}};
  study.tables = {{"By policy",
                   {{"mean JCT", "jct_s.mean", Quantity::seconds},
                    {"preemptions", "preemptions", Quantity::count}}}};
  study.sweeps = {{"Load", "load", workload_key("load"), {"0.5", "0.9", "1.5"}, {"srtf"}},
                  {"Threshold of las",
                   "order.thresholds",
                   policy_setting({"las"}, "order.thresholds"),
                   {"10m", "1h", "10h"}}};
  return study;
}

/// A folder with every trace that a study names, empty; enough to plan by.
inline std::string folder_of_empty_traces() {
  const std::string folder = testing::TempDir() + "empty_traces";
  std::filesystem::create_directories(folder + "/sia");
  for (const char* file :
       {"philly/philly.csv", "dally/batch_500.json", "dally/poisson_week.json"}) {
    const std::filesystem::path path = folder + "/" + file;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path).flush();
  }
  return folder;
}

inline StudyPlan sample_plan(const Study& study, const PlanOptions& options = {}) {
  auto plan = make_plan(study, options);
  EXPECT_TRUE(plan) << plan.error().message;
  return std::move(*plan);
}

inline Findings sample_findings(const Study& study, const PlanOptions& options = {},
                                int threads = 2) {
  const StudyPlan plan = sample_plan(study, options);
  RunnerOptions runner;
  runner.threads = threads;
  const auto results = run_plan(plan, runner);
  EXPECT_TRUE(results) << results.error().message;
  return evaluate(study, plan, *results);
}

}  // namespace trainyard
