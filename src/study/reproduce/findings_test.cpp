#include "study/reproduce/findings.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "study/reproduce/testing.h"

namespace trainyard {
namespace {

/// Results in which a run's mean JCT is what `jct` says of it.
template <class Jct>
std::vector<Metrics> results_with(const StudyPlan& plan, Jct jct) {
  std::vector<Metrics> results;
  for (const StudyRun& run : plan.runs)
    results.push_back({{"jct_s.mean", jct(run)},
                       {"wait_s.mean", 0},
                       {"preemptions", 0},
                       {"jobs", 10},
                       {"finished", 10}});
  return results;
}

/// fifo takes 100 s; srtf saves 10% with seed 1, 20% with seed 2 and so on, and twice that at a
/// load of 1.5.
double sample_jct(const StudyRun& run) {
  if (run.policy != "srtf") return 100;
  const double factor = run.workload.find("load=1.5") == std::string::npos ? 1 : 2;
  return 100 * (1 - 0.1 * factor * static_cast<double>(run.seed));
}

TEST(Findings, AClaimIsTheMeanOverSeedsWithStudentsInterval) {
  const Study study = sample_study();
  const StudyPlan plan = sample_plan(study);
  const Findings findings = evaluate(study, plan, results_with(plan, sample_jct));
  ASSERT_EQ(findings.claims.size(), 3U);
  // 10%, 20%, 30%: deviation 10%, t = 4.303 with two degrees of freedom.
  EXPECT_NEAR(findings.claims[0].ours.mean, 0.2, 1e-12);
  EXPECT_NEAR(findings.claims[0].ours.half_width, 4.303 * 0.1 / std::sqrt(3), 1e-9);
  EXPECT_EQ(findings.claims[0].condition, "base");
  EXPECT_TRUE(findings.claims[0].holds);
  EXPECT_FALSE(findings.claims[1].holds) << "99% was claimed";
  EXPECT_EQ(findings.runs, plan.runs.size());
}

TEST(Findings, TheLargestNamesItsCondition) {
  const Study study = sample_study();
  const StudyPlan plan = sample_plan(study);
  const Findings findings = evaluate(study, plan, results_with(plan, sample_jct));
  EXPECT_NEAR(findings.claims[2].ours.mean, 0.4, 1e-12);
  EXPECT_EQ(findings.claims[2].condition, "load = 1.5");
  const Findings same =
      evaluate(study, plan, results_with(plan, [](const StudyRun&) { return 5.0; }));
  EXPECT_EQ(same.claims[2].condition, "base") << "none is larger";
}

TEST(Findings, AClaimHoldsInItsDirection) {
  Study study = sample_study();
  const auto holds = [&](Direction direction, double paper) {
    study.claims = {{"x", "", "", "srtf", direction, paper}};
    const StudyPlan plan = sample_plan(study);
    const auto half = [](const StudyRun& run) { return run.policy == "srtf" ? 50.0 : 100.0; };
    return evaluate(study, plan, results_with(plan, half)).claims[0].holds;
  };
  using enum Direction;
  EXPECT_TRUE(holds(at_least, 0.49));
  EXPECT_TRUE(holds(at_least, 0.5)) << "to meet it is enough";
  EXPECT_FALSE(holds(at_least, 0.51));
  EXPECT_FALSE(holds(at_most, 0.49));
  EXPECT_TRUE(holds(at_most, 0.5));
  EXPECT_TRUE(holds(at_most, 0.51));
}

TEST(Findings, TheVerdictIsTheWholeIntervals) {
  using enum ClaimVerdict;
  using enum Quantity;
  const auto verdict = [](Direction direction, double number, Interval measured,
                          Quantity quantity = ratio, const char* source = "abstract") {
    return verdict_on({"x", "", source, "", direction, number}, quantity, measured);
  };
  const Direction much = Direction::at_least, little = Direction::at_most;
  EXPECT_EQ(verdict(much, 1.5, {2, 0.4}), holds);
  EXPECT_EQ(verdict(much, 1.5, {2, 0.6}), open) << "the mean alone would hold";
  EXPECT_EQ(verdict(much, 1.5, {1.4, 0.2}), open) << "the mean alone would fail";
  EXPECT_EQ(verdict(much, 1.5, {1, 0.2}), fails);
  EXPECT_EQ(verdict(much, 1.5, {3.2, 0.2}), beyond) << "twice as much";
  EXPECT_EQ(verdict(much, 0.9, {0.97, 0.01}, share), beyond) << "half as much is missing";
  EXPECT_EQ(verdict(much, 0.9, {0.94, 0.01}, share), holds);
  EXPECT_EQ(verdict(little, 0.18, {0.15, 0.02}, share), holds);
  EXPECT_EQ(verdict(little, 0.18, {0.06, 0.02}, share), beyond) << "half as much";
  EXPECT_EQ(verdict(little, 0.18, {-0.3, 0.1}, share), beyond) << "the other sign";
  EXPECT_EQ(verdict(little, 0.18, {0.25, 0.02}, share), fails);
  EXPECT_EQ(verdict(little, 0, {-0.3, 0.1}, share), holds) << "of nothing there is no half";
  EXPECT_EQ(verdict(much, 1.5, {1.5, 0}), holds) << "without an interval it is a point";
  EXPECT_EQ(verdict(much, 1.5, {9, 1}, ratio, "our aim"), holds) << "no paper to go beyond";
  EXPECT_EQ(verdict(much, 1.5, {std::nan(""), 0}), fails);
}

TEST(Findings, ASweepThatIsAsideIsNotLookedAtForAnUpTo) {
  for (const bool is_aside : {false, true}) {
    Study study = sample_study();
    for (Sweep& sweep : study.sweeps) sweep.is_aside = is_aside;
    study.claims = {{"up to", "", "", "srtf", Direction::at_least, 0, TakenAt::largest}};
    const StudyPlan plan = sample_plan(study);
    const Findings findings =
        evaluate(study, plan, results_with(plan, [&](const StudyRun& run) {
                   const bool is_base = run.workload == plan.base.workload;
                   return run.policy == "srtf" ? (is_base ? 50.0 : 20.0) : 100.0;
                 }));
    EXPECT_EQ(findings.claims[0].condition == plan.base.name, is_aside);
  }
}

TEST(Findings, AClaimCanBeTakenAtAConditionOrWithinASweep) {
  Study study = sample_study();
  study.claims = {
      {"at", "", "", "srtf", Direction::at_least, 0, TakenAt::base, "load = 0.5"},
      {"in", "", "", "srtf", Direction::at_least, 0, TakenAt::largest, study.sweeps[1].title},
      {"none", "", "", "srtf", Direction::at_least, 0, TakenAt::largest, "no sweep"},
      {"average", "", "", "srtf", Direction::at_most, 0.6, TakenAt::average,
       study.sweeps[0].title.substr(0, 4)}};
  const StudyPlan plan = sample_plan(study);
  const Findings findings = evaluate(study, plan, results_with(plan, [](const StudyRun& run) {
                                       const bool half =
                                           run.workload.find("load=0.5") != run.workload.npos;
                                       return run.policy == "srtf" ? (half ? 20.0 : 50.0) : 100.0;
                                     }));
  EXPECT_EQ(findings.claims[0].condition, "load = 0.5");
  EXPECT_NEAR(findings.claims[0].ours.mean, 0.8, 1e-12);
  EXPECT_NE(findings.claims[1].condition, "load = 0.5") << "it is in another sweep";
  EXPECT_NEAR(findings.claims[1].ours.mean, 0.5, 1e-12);
  EXPECT_EQ(findings.claims[2].condition, plan.base.name);
  double sum = 0;
  for (const Condition& condition : plan.sweeps[0])
    sum += condition.workload.find("load=0.5") != std::string::npos ? 0.8 : 0.5;
  EXPECT_NEAR(findings.claims[3].ours.mean, sum / static_cast<double>(plan.sweeps[0].size()),
              1e-12);
  EXPECT_EQ(findings.claims[3].holds, findings.claims[3].ours.mean <= 0.6);
}

TEST(Findings, NowhereIsHeldAgainstTheConditionThatComesNearestToMissing) {
  Study study = sample_study();
  const std::string load = study.sweeps[0].title;
  study.claims = {{"yes", "", "", "srtf", Direction::at_most, 0.6, TakenAt::nowhere, load},
                  {"no", "", "", "srtf", Direction::at_most, 0.4, TakenAt::nowhere, load},
                  {"least", "", "", "srtf", Direction::at_least, 0.3, TakenAt::nowhere, load},
                  {"none", "", "", "srtf", Direction::at_least, 0, TakenAt::nowhere, "no sweep"}};
  const StudyPlan plan = sample_plan(study);
  const Findings findings = evaluate(study, plan, results_with(plan, [](const StudyRun& run) {
                                       const bool half =
                                           run.workload.find("load=0.5") != run.workload.npos;
                                       return run.policy == "srtf" ? (half ? 50.0 : 80.0) : 100.0;
                                     }));
  EXPECT_EQ(findings.claims[0].condition, "load = 0.5") << "0.5 there, and 0.2 elsewhere";
  EXPECT_EQ(findings.claims[0].verdict, ClaimVerdict::no_worse);
  EXPECT_EQ(findings.claims[1].verdict, ClaimVerdict::worse);
  EXPECT_FALSE(findings.claims[1].holds);
  EXPECT_NE(findings.claims[2].condition, "load = 0.5");
  EXPECT_EQ(findings.claims[2].verdict, ClaimVerdict::worse);
  EXPECT_EQ(findings.claims[3].verdict, ClaimVerdict::fails) << "not defined";
}

TEST(Findings, TheWorstIsWhereTheMeanIsWhateverItsInterval) {
  Study study = sample_study();
  const std::string load = study.sweeps[0].title;
  study.claims = {{"worst", "", "", "srtf", Direction::at_most, 0.55, TakenAt::worst, load},
                  {"nowhere", "", "", "srtf", Direction::at_most, 0.55, TakenAt::nowhere, load},
                  {"least", "", "", "srtf", Direction::at_least, 0.7, TakenAt::worst, load}};
  const StudyPlan plan = sample_plan(study);
  const Findings findings = evaluate(study, plan, results_with(plan, [](const StudyRun& run) {
                                       if (run.policy != "srtf") return 100.0;
                                       const bool half =
                                           run.workload.find("load=0.5") != run.workload.npos;
                                       if (half) return run.seed % 2 == 0 ? 90.0 : 10.0;
                                       return 50.0;
                                     }));
  EXPECT_EQ(findings.claims[0].condition, "load = 0.5") << "0.9, 0.1, 0.9; 0.5 elsewhere";
  EXPECT_EQ(findings.claims[0].verdict, ClaimVerdict::open);
  EXPECT_NE(findings.claims[1].condition, "load = 0.5");
  EXPECT_EQ(findings.claims[1].verdict, ClaimVerdict::no_worse);
  EXPECT_NE(findings.claims[2].condition, "load = 0.5");
  EXPECT_EQ(findings.claims[2].verdict, ClaimVerdict::fails);
}

TEST(Findings, WhatIsNotDefinedDoesNotHold) {
  Study study = sample_study();
  study.claims.push_back({"most", "", "", "srtf", Direction::at_most, 1});
  const StudyPlan plan = sample_plan(study);
  const Findings findings =
      evaluate(study, plan, results_with(plan, [](const StudyRun& run) {
                 return run.workload.find("load=1.5") == std::string::npos ? 0.0 : 1.0;
               }));
  EXPECT_TRUE(std::isnan(findings.claims[0].ours.mean)) << "0 over 0";
  EXPECT_FALSE(findings.claims[0].holds);
  EXPECT_FALSE(findings.claims[3].holds);
  EXPECT_EQ(findings.claims[2].condition, "load = 1.5") << "where it is defined";
}

TEST(Findings, ATableHasARowForEachPolicy) {
  const Study study = sample_study();
  const StudyPlan plan = sample_plan(study);
  const Findings findings = evaluate(study, plan, results_with(plan, sample_jct));
  ASSERT_EQ(findings.tables.size(), 1U);
  const TableFinding& table = findings.tables[0];
  ASSERT_EQ(table.rows.size(), 3U);
  EXPECT_EQ(table.rows[1].name, "srtf");
  EXPECT_EQ(table.columns[0].title, "mean JCT");
  EXPECT_NEAR(table.rows[1].values[0].mean, 80, 1e-9);
}

TEST(Findings, ASweepHasARowForEachValueAndItsMeasures) {
  const Study study = sample_study();
  const StudyPlan plan = sample_plan(study);
  const Findings findings = evaluate(study, plan, results_with(plan, sample_jct));
  ASSERT_EQ(findings.sweeps.size(), 2U);
  const SweepFinding& load = findings.sweeps[0];
  ASSERT_EQ(load.table.columns.size(), 1U) << "the one chosen";
  EXPECT_NEAR(load.table.rows[1].values[0].mean, 0.2, 1e-12);
  EXPECT_NEAR(load.table.rows[2].values[0].mean, 0.4, 1e-12);
  EXPECT_EQ(findings.sweeps[1].table.columns.size(), 3U) << "all";
}

TEST(Findings, ValuesAreNumbersOrDurationsWhereTheyAreEither) {
  Study study = sample_study();
  const auto axis = [&](std::vector<std::string> values) {
    study.sweeps = {{"X", "x", [](Condition&, const std::string&) {}, std::move(values)}};
    return sample_findings(study, {.quick = true, .seeds = 1}).sweeps[0];
  };
  using Xs = std::vector<std::optional<double>>;
  EXPECT_EQ(axis({"0.5", "1e3", "-2"}).x, (Xs{0.5, 1000, -2}));
  EXPECT_EQ(axis({"1", "none", "inf"}).x, (Xs{1, std::nullopt, std::nullopt}));
  const SweepFinding times = axis({"0", "3m", "1h30m", "none"});
  EXPECT_EQ(times.x, (Xs{0, 180, 5400, std::nullopt}));
  EXPECT_TRUE(times.x_is_time);
  EXPECT_FALSE(axis({"0", "3"}).x_is_time);
}

TEST(Findings, OfSomeSweepsHaveTheClaimsThatAreTakenThere) {
  Study study = sample_study();
  study.claims.push_back(
      {"there", "At 1.5", "table 3", "srtf", Direction::at_least, 0, TakenAt::base, "load = 1.5"});
  study.claims.push_back({"elsewhere", "At 1h", "table 3", "las", Direction::at_least, 0,
                          TakenAt::base, "order.thresholds = 1h"});
  study.claims.push_back(
      {"all", "Nowhere", "our goal", "srtf", Direction::at_least, 0, TakenAt::nowhere, "Load"});
  study.claims.push_back(
      {"none", "Nowhere", "our goal", "srtf", Direction::at_least, 0, TakenAt::nowhere, "Thres"});
  const Findings findings = sample_findings(study, {.quick = true, .only = "Load"});
  ASSERT_EQ(findings.claims.size(), 2U);
  EXPECT_EQ(findings.claims[0].claim.id, "there");
  EXPECT_EQ(findings.claims[1].claim.id, "all");
  EXPECT_EQ(findings.sweeps.size(), 1U);
  EXPECT_TRUE(findings.tables.empty()) << "they are of the base condition";
}

TEST(Findings, TellOfJobsThatDidNotFinish) {
  const Study study = sample_study();
  const StudyPlan plan = sample_plan(study);
  auto results = results_with(plan, sample_jct);
  EXPECT_TRUE(evaluate(study, plan, results).warnings.empty());
  results[plan.index(run_of(plan.base, plan.base.policies[1], 2))]["finished"] = 7;
  EXPECT_EQ(
      evaluate(study, plan, results).warnings,
      std::vector<std::string>{"srtf: 3 of 30 jobs did not finish and are in no number here."});
}

TEST(Findings, TheCommandRepeatsThem) {
  const Study study = sample_study();
  EXPECT_EQ(sample_findings(study).command(), "trainyard reproduce sample");
  EXPECT_EQ(sample_findings(study, {.quick = true, .seeds = 5}).command(),
            "trainyard reproduce sample --quick --seeds 5");
  EXPECT_EQ(
      sample_findings(study, {.first_seed = 101, .only = "Load", .instead = {"las", "tiresias"}})
          .command(),
      "trainyard reproduce sample --first-seed 101 --only 'Load' --instead 'las=tiresias'");
}

}  // namespace
}  // namespace trainyard
