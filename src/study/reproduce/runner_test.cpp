#include "study/reproduce/runner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>

#include "sim/simulation.h"
#include "study/reproduce/testing.h"
#include "workload/generate/generate.h"

namespace trainyard {
namespace {

TEST(StudyRunner, EveryRunIsThatOfASimulationAlone) {
  const StudyPlan plan = sample_plan(sample_study(), {.quick = true});
  const auto results = run_plan(plan, {});
  ASSERT_TRUE(results);
  ASSERT_EQ(results->size(), plan.runs.size());
  for (std::size_t i = 0; i < plan.runs.size(); ++i) {
    const StudyRun& run = plan.runs[i];
    const Cluster cluster = *parse_study_cluster(run.cluster);
    const Workload workload = *generate(run.workload, cluster, run.seed);
    Simulation simulation(cluster, workload, *PolicySpec::parse(run.policy, run.settings),
                          {run.seed});
    simulation.run();
    Metrics expected = metrics_of(simulation.result());
    expected.emplace(kPauseTakes, 0);
    EXPECT_EQ((*results)[i], expected) << run.policy << " " << run.seed;
  }
}

TEST(StudyRunner, ThreadsChangeNothing) {
  const StudyPlan plan = sample_plan(sample_study(), {.quick = true});
  RunnerOptions options;
  options.threads = 1;
  const auto one = run_plan(plan, options);
  for (const int threads : {2, 5}) {
    options.threads = threads;
    EXPECT_EQ(*run_plan(plan, options), *one);
  }
}

TEST(StudyRunner, MetricsAreTheNumbersOfTheRunNotOfTheMachine) {
  Result result;
  result.seed = 7, result.wall_s = 1, result.trial.slowdown.p95 = 3;
  const Metrics metrics = metrics_of(result);
  EXPECT_EQ(metrics.at("by_class.trial.slowdown.p95"), 3);
  for (const char* name : {"seed", "wall_s", "events_per_s", "jobs_per_s", "decision_us.p50"})
    EXPECT_FALSE(metrics.contains(name)) << name;
}

TEST(StudyRunner, WhatTheJournalHasIsNotRunAgain) {
  const auto path =
      std::filesystem::temp_directory_path() / fmt::format("trainyard-runner-{}.jsonl", getpid());
  const StudyPlan plan = sample_plan(sample_study(), {.quick = true});
  const auto unbroken = run_plan(plan, {});
  {
    auto journal = RunJournal::open(path, "build");
    for (const std::size_t i : {0, 3, 5}) (*journal)->add(plan.runs[i], (*unbroken)[i]);
  }
  auto journal = RunJournal::open(path, "build");
  std::atomic<std::size_t> there = 0, done = 0;
  RunnerOptions options;
  options.journal = journal->get();
  options.on_begin = [&](std::size_t already) { there = already; };
  options.on_run_done = [&] { ++done; };
  EXPECT_EQ(*run_plan(plan, options), *unbroken);
  EXPECT_EQ(there, 3U);
  EXPECT_EQ(done, plan.runs.size() - 3);
  journal->reset();
  EXPECT_NE(RunJournal::open(path, "build").value()->find(plan.runs[1]), nullptr)
      << "the others are in it now";
  std::filesystem::remove(path);
}

TEST(StudyRunner, SaysWhichRunFailed) {
  Study study = sample_study();
  study.base.workload = "poisson:jobs={jobs},gpus=99";
  const auto results = run_plan(sample_plan(study), {});
  ASSERT_FALSE(results);
  EXPECT_THAT(results.error().message, testing::StartsWith("fifo with seed 1: "));
  study.base.workload = "no-such-file.csv";
  study.sweeps.clear();
  EXPECT_FALSE(run_plan(sample_plan(study), {}));
}

}  // namespace
}  // namespace trainyard
