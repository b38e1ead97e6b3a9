// One workload has the same costs of pauses whoever runs it.
#include "study/recipe.h"

#include <gtest/gtest.h>

#include "study/reproduce/testing.h"
#include "study/run.h"
#include "workload/generate/generate.h"
#include "workload/pauses.h"

namespace trainyard {
namespace {

const Cluster kCluster = *parse_cluster_shorthand("2x4xV100");

Workload prepared(const std::string& spec, const Preparation& how = {}) {
  Workload workload = generate(spec, kCluster, 1).value();
  EXPECT_TRUE(prepare(kCluster, Catalogue::builtin(), how, workload));
  return workload;
}

Result run(const Workload& workload, const std::string& policy) {
  const auto simulation =
      make_simulation(kCluster, workload, *PolicySpec::parse(policy), {.seed = 1});
  EXPECT_TRUE(simulation);
  (*simulation)->run();
  return (*simulation)->result();
}

/// As `trainyard reproduce` runs a study with this workload.
Metrics studied(const std::string& spec, const std::string& policy) {
  Study study = sample_study();
  study.quick = {1, 1};
  study.base = {"base", spec, "2x4xV100", {{policy, policy}}};
  study.claims.clear();
  study.sweeps.clear();
  const auto results = run_plan(sample_plan(study, {.quick = true}), {.threads = 1});
  EXPECT_TRUE(results);
  return results->front();
}

TEST(Recipe, AWorkloadHasTheSamePauseCostsInAStudyAndInASimulation) {
  for (const std::string spec :
       {"trace:file=examples/workloads/philly.csv,max_gpus=8,load=2",
        "trace:file=examples/workloads/philly.csv,max_gpus=8,load=2,pause=lucid",
        "contended:jobs=30,gpus=1:1/2:1,span=1m", "contended:jobs=30,gpus=1:1/2:1,pause=titan",
        "learning:jobs=8,workers=2,span=100", "poisson:jobs=60,load=2,pause=model",
        "poisson:jobs=60,load=2", "philly-like:jobs=60,max_gpus=8,load=2,save=20"}) {
    const Workload workload = prepared(spec);
    const Result simulated = run(workload, "srtf");
    const Metrics in_study = studied(spec, "srtf");
    EXPECT_EQ(in_study.at("lost_gpu_s"), simulated.lost_gpu_s) << spec;
    EXPECT_EQ(in_study.at("jct_s.mean"), simulated.all.jct_s.mean) << spec;
    EXPECT_EQ(in_study.at(kPauseTakes), mean_pause(workload).seconds()) << spec;
    EXPECT_EQ(in_study.at(kPauseTakes) == 0, simulated.pause_costs == "free") << spec;
  }
}

TEST(Recipe, WhatAGeneratorLeavesOpenIsModelledAndNotFree) {
  for (const std::string spec : {"contended:jobs=9,gpus=1:1", "learning:jobs=9"}) {
    const Workload workload = prepared(spec);
    EXPECT_EQ(workload.pause_costs, PauseCosts::modelled) << spec;
    EXPECT_GT(mean_pause(workload).us, 0) << spec;
    EXPECT_FALSE(workload.jobs[0].first_start_loads) << spec;
    EXPECT_EQ(prepared(spec + ",pause=free").pause_costs, PauseCosts::given) << spec;
    EXPECT_EQ(mean_pause(prepared(spec, {.free_pauses = true})).us, 0) << spec;
    const auto scaled = generate(spec + ",pause_scale=2", kCluster, 1);
    ASSERT_FALSE(scaled) << spec;
    EXPECT_NE(scaled.error().message.find("pause_scale=2 scales nothing"), std::string::npos);
  }
}

/// Jobs while the cluster fills and empties are in no figure on times, and in no curve of a report.
TEST(Recipe, TheCurvesOfAReportHaveTheJobsOfItsTable) {
  Workload workload = prepared("poisson:jobs=40,load=1.5,trial=0.5");
  workload.uncounted = 10;
  const auto simulation =
      make_simulation(kCluster, workload, *PolicySpec::parse("fifo"), {.seed = 1});
  ASSERT_TRUE(simulation);
  (*simulation)->run();
  const auto shown = summarize_run(**simulation);
  EXPECT_EQ(shown.result.all.jobs, 20U);
  for (const auto& [curve, table] : {std::pair{&shown.all.jct_s, &shown.result.all.jct_s},
                                     {&shown.all.wait_s, &shown.result.all.wait_s},
                                     {&shown.trial.slowdown, &shown.result.trial.slowdown},
                                     {&shown.batch.slowdown, &shown.result.batch.slowdown}})
    EXPECT_DOUBLE_EQ(curve->quantiles.back(), table->max);
}

}  // namespace
}  // namespace trainyard
