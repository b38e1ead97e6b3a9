#include "study/reproduce/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "study/reproduce/testing.h"

namespace trainyard {
namespace {

TEST(StudyPlan, NoRunIsThereTwice) {
  const StudyPlan plan = sample_plan(sample_study());
  // The base: 3 policies. Of the loads one is the base's; of the thresholds too, and the others
  // are of one policy alone.
  EXPECT_EQ(plan.runs.size(), 3U * (3 + 2 * 3 + 2));
  EXPECT_TRUE(std::ranges::is_sorted(plan.runs));
  EXPECT_EQ(std::ranges::adjacent_find(plan.runs), plan.runs.end());
}

TEST(StudyPlan, FindsEveryRunOfEveryCondition) {
  const StudyPlan plan = sample_plan(sample_study());
  std::vector<Condition> conditions{plan.base};
  for (const auto& sweep : plan.sweeps)
    conditions.insert(conditions.end(), sweep.begin(), sweep.end());
  for (const Condition& condition : conditions)
    for (const StudyPolicy& policy : condition.policies)
      for (const std::uint64_t seed : {1, 2, 3}) {
        const StudyRun run = run_of(condition, policy, seed);
        ASSERT_LT(plan.index(run), plan.runs.size());
        EXPECT_EQ(plan.runs[plan.index(run)], run);
      }
}

TEST(StudyPlan, QuickAndSeedsAreWhatWasAskedFor) {
  const Study study = sample_study();
  const StudyPlan full = sample_plan(study), quick = sample_plan(study, {.quick = true});
  EXPECT_EQ(full.base.workload, "poisson:jobs=200,load=0.9,trial=0.3,gpus=1:0.8/4:0.2");
  EXPECT_EQ(quick.sweeps[0][2].workload, "poisson:jobs=50,load=1.5,trial=0.3,gpus=1:0.8/4:0.2");
  EXPECT_EQ(quick.sweeps[0][2].name, "load = 1.5");
  EXPECT_EQ(full.extent.seeds, 3);
  EXPECT_EQ(quick.extent.seeds, 2);
  EXPECT_EQ(sample_plan(study, {.quick = true, .seeds = 7}).extent.seeds, 7);
}

TEST(StudyPlan, SeedsBeginWhereTheStudySaysOrWhereItIsAsked) {
  Study study = sample_study();
  study.full.first_seed = 1001;
  study.base.workload += ",{part}";
  const auto seeds = [](const StudyPlan& plan) {
    std::set<std::uint64_t> all;
    for (const StudyRun& run : plan.runs) all.insert(run.seed);
    return all;
  };
  const StudyPlan judged = sample_plan(study), chosen = sample_plan(study, {.first_seed = 101});
  EXPECT_EQ(seeds(judged), (std::set<std::uint64_t>{1001, 1002, 1003}));
  EXPECT_EQ(seeds(chosen), (std::set<std::uint64_t>{101, 102, 103}));
  EXPECT_THAT(judged.sweeps[0][2].workload, testing::EndsWith(",from=0.6"));
  EXPECT_THAT(chosen.sweeps[0][2].workload, testing::EndsWith(",until=0.6"));
}

TEST(StudyPlan, AConditionMayHaveMoreOrFewerJobsThanTheExtentSays) {
  Study study = sample_study();
  study.base.times_jobs = 0.16;
  EXPECT_THAT(sample_plan(study).base.workload, testing::StartsWith("poisson:jobs=32,"));
}

TEST(StudyPlan, TheQuickFormMayHaveTheFirstValuesOfASweep) {
  Study study = sample_study();
  study.sweeps[0].quick_values = 1;
  EXPECT_EQ(sample_plan(study).sweeps[0].size(), 3U);
  EXPECT_EQ(sample_plan(study, {.quick = true}).sweeps[0].size(), 1U);
}

TEST(StudyPlan, OnlySomeSweepsAreRunWithoutTheBaseCondition) {
  const Study study = sample_study();
  const StudyPlan plan = sample_plan(study, {.only = "Thresh"});
  EXPECT_TRUE(plan.sweeps[0].empty());
  EXPECT_EQ(plan.sweeps[1].size(), 3U);
  const auto none = make_plan(study, {.only = "Tresh"});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().message, "sample: no sweep's title begins with 'Tresh'; one is 'Load'");
}

TEST(StudyPlan, AnotherLineCanBeRunInstead) {
  const StudyPlan plan = sample_plan(sample_study(), {.instead = {"las", "tiresias"}});
  const StudyPolicy& policy = plan.sweeps[0][0].policies[2];
  EXPECT_EQ(policy.line, "tiresias");
  EXPECT_EQ(policy.settings, std::vector<std::string>{"order.thresholds=1h"});
}

TEST(StudyPlan, AWorkloadMayNameThePolicyThatIsRun) {
  const Condition condition{"base", "g:under={policy},a=1", "1x1xV100", {}};
  EXPECT_EQ(run_of(condition, {"x", "order=las", {"order.thresholds=1h"}}, 1).workload,
            "g:under=order=las order.thresholds=1h,a=1");
  EXPECT_EQ(run_of(condition, {"y", "fifo"}, 1).workload, "g:under=fifo,a=1");
}

TEST(StudyPlan, APolicyMayHavePausesThatCostNothing) {
  const Condition condition{"base", "g:a=1,pause=gpu", "1x1xV100", {}};
  EXPECT_EQ(run_of(condition, {"x", "fifo", {}, true}, 1).workload, "g:a=1,pause=free");
  EXPECT_EQ(run_of(condition, {"x", "fifo"}, 1).workload, "g:a=1,pause=gpu");
}

/// A sweep of which one condition needs a log.
Study study_with_a_log() {
  Study study = sample_study();
  study.sweeps.push_back({"Jobs",
                          "jobs",
                          [](Condition& condition, const std::string& value) {
                            if (value == "log")
                              condition.workload =
                                  std::string("trace:jobs={jobs},file=") + kPhillyLog + ",load=0.9";
                          },
                          {"log", "drawn"}});
  study.claims.push_back(
      {"log", "", "", "srtf", Direction::at_least, 0.0, TakenAt::base, "jobs = log"});
  study.claims.push_back(
      {"worst", "", "", "srtf", Direction::at_least, 0.0, TakenAt::worst, "Jobs"});
  return study;
}

TEST(StudyPlan, LeavesOutConditionsWithoutTheirTraceAndSaysSo) {
  const Study study = study_with_a_log();
  const StudyPlan without = sample_plan(study);
  ASSERT_EQ(without.sweeps[2].size(), 1U);
  EXPECT_EQ(swept_value(study.sweeps[2], without.sweeps[2][0]), "drawn");
  EXPECT_FALSE(without.uses_traces);
  ASSERT_EQ(without.left_out.size(), 1U);
  EXPECT_EQ(without.left_out[0],
            "Jobs: 1 of 2 conditions left out: they need philly/philly.csv; give the folder that "
            "has it by --traces or TRAINYARD_TRACES.");
  const StudyPlan elsewhere = sample_plan(study, {.traces = "/nowhere"});
  EXPECT_THAT(elsewhere.left_out[0], testing::HasSubstr("; /nowhere does not have it."));

  const std::string folder = folder_of_empty_traces();
  const StudyPlan with = sample_plan(study, {.traces = folder});
  EXPECT_TRUE(with.left_out.empty());
  EXPECT_TRUE(with.uses_traces);
  EXPECT_EQ(with.sweeps[2][0].workload,
            fmt::format("trace:jobs=200,file={}/philly/philly.csv,load=0.9", folder));
}

TEST(StudyPlan, RefusesASweepOfWhichNothingIsLeft) {
  Study study = study_with_a_log();
  study.sweeps[2].values = {"log"};
  const auto plan = make_plan(study, {.only = "Jobs"});
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().message,
            "sample: nothing is left to run: Jobs: 1 of 1 conditions left out: they need "
            "philly/philly.csv; give the folder that has it by --traces or TRAINYARD_TRACES.");
}

TEST(StudyPlan, FindingsNameWhatWasLeftOutAndClaimNothingOfIt) {
  const Study study = study_with_a_log();
  const Findings findings = sample_findings(study, {.quick = true});
  EXPECT_EQ(findings.claims.size(), study.claims.size() - 1) << "all but that on the log";
  EXPECT_EQ(findings.claims.back().claim.id, "worst") << "of the condition that was run";
  ASSERT_EQ(findings.warnings.size(), 1U);
  EXPECT_THAT(findings.warnings[0], testing::HasSubstr("they need philly/philly.csv"));
  EXPECT_EQ(findings.sweeps[2].table.rows.size(), 1U);
  EXPECT_EQ(findings.sweeps[2].table.rows[0].name, "drawn");
}

TEST(StudyPlan, RefusesWhatCannotRun) {
  const auto message = [](auto change, PlanOptions options = {}) {
    Study study = sample_study();
    change(study);
    const auto plan = make_plan(study, options);
    return plan ? "" : plan.error().message;
  };
  EXPECT_EQ(message([](Study&) {}, {.quick = false, .seeds = -1}), "-1 seeds; give 1 or more");
  EXPECT_THAT(message([](Study& s) { s.base.policies[0].line = "fifi"; }),
              testing::HasSubstr("sample: base, fifo: unknown policy 'fifi'"));
  EXPECT_THAT(message([](Study& s) { s.base.cluster = "many"; }),
              testing::HasSubstr("sample: base: 'many' is not a cluster"));
  EXPECT_THAT(message([](Study& s) { s.sweeps[1].values[2] = "soon"; }),
              testing::HasSubstr("sample: order.thresholds = soon, las: "));
}

TEST(StudyPlan, AClusterIsAShapeOrToml) {
  EXPECT_EQ(parse_study_cluster("2x4xV100")->total_gpus, 8);
  EXPECT_EQ(parse_study_cluster("[[rack]]\n[[rack.machine]]\ngpus = 3\n")->total_gpus, 3);
  EXPECT_FALSE(parse_study_cluster("[[rack]]\n"));
}

}  // namespace
}  // namespace trainyard
