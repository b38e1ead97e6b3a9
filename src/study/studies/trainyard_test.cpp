// What our own study says of runs whose metrics are made up.
#include <gtest/gtest.h>

#include <algorithm>

#include "policy/registry.h"
#include "study/reproduce/testing.h"
#include "study/studies.h"

namespace trainyard {
namespace {

/// Every metric that the study names is 1, but for our policy `ours` times that in some runs.
template <class Ours>
Findings made_up(const Study& study, const PlanOptions& options, Ours ours) {
  const StudyPlan plan = sample_plan(study, options);
  const std::string line = std::ranges::find(presets(), "trainyard", &Preset::name)->line;
  std::vector<Metrics> results;
  for (const StudyRun& run : plan.runs) {
    Metrics metrics{{"jobs", 1}, {"finished", 1}};
    for (const char* path : {"by_class.trial.slowdown.p95", "by_class.batch.slowdown.p50",
                             "by_class.batch.slowdown.p95", "by_class.batch.slowdown.p99",
                             "jct_s.mean", "wait_s.mean", "wait_s.max", "preemptions", "makespan_s",
                             "slowed_mean_s", "learning.to_90_s.mean", "learning.to_95_s.mean"})
      metrics[path] = run.policy == line ? ours(run, std::string(path)) : 1;
    results.push_back(std::move(metrics));
  }
  return evaluate(study, plan, results);
}

const TableFinding* find_table(const Findings& findings, const std::string& beginning) {
  const auto found = std::ranges::find_if(findings.foremost, [&](const TableFinding& table) {
    return table.title.starts_with(beginning);
  });
  return found == findings.foremost.end() ? nullptr : &*found;
}

TEST(TrainyardStudy, ListsWhatIsLostFirstTheWorstBeforeTheRest) {
  const Study study = trainyard_study();
  const Findings findings =
      made_up(study, {.quick = true, .seeds = 2}, [](const StudyRun& run, const std::string& path) {
        const bool is_xion = run.workload.starts_with("poisson:");
        if (is_xion && path == "jct_s.mean")
          return run.workload.find("declared=none") == std::string::npos ? 1.5 : 2.0;
        return path == "wait_s.max" ? 3.0 : 0.5;  // three times fifo-easy's is allowed
      });
  const TableFinding& losses = findings.foremost.front();
  ASSERT_EQ(losses.title, "What it loses");
  ASSERT_EQ(losses.rows.size(), 4U) << "one for each thing that is known";
  EXPECT_EQ(losses.rows[0].name, "xion, none; base; mean JCT");
  EXPECT_EQ(losses.rows[0].values[0].mean, 2);
  EXPECT_EQ(losses.rows[1].name, "xion, exact; base; mean JCT");
  for (const ClaimFinding& claim : findings.claims)
    EXPECT_EQ(claim.holds, claim.claim.id != "xion-jct") << claim.claim.id;
}

TEST(TrainyardStudy, HasEveryStudyUnderEverySystemAndWithoutEveryRule) {
  const Study study = trainyard_study();
  const Findings findings =
      made_up(study, {.quick = true, .seeds = 2}, [](const auto&, const auto&) { return 0.5; });
  const TableFinding *systems = find_table(findings, "Other systems"),
                     *rules = find_table(findings, "trainyard without a rule"),
                     *known = find_table(findings, "trainyard at the base");
  ASSERT_TRUE(systems && rules && known);
  EXPECT_EQ(known->columns.size(), 4U);
  EXPECT_EQ(known->rows.size(), 15U);
  EXPECT_EQ(systems->rows.size(), 13U) << "the others place as they like, so not spread once more";
  EXPECT_EQ(rules->rows.size(), 15U);
  EXPECT_EQ(rules->columns[0].title, "as it is");
  EXPECT_EQ(rules->rows[0].values[0].mean, 0.5);
  EXPECT_EQ(rules->rows[0].values[1].mean, 1) << "not our line any more";
}

TEST(TrainyardStudy, TellsOfAPartWhatThereIsToTell) {
  const Study study = trainyard_study();
  const Findings findings = made_up(study, {.quick = true, .seeds = 2, .only = "dally, limits"},
                                    [](const auto&, const auto&) { return 0.5; });
  EXPECT_EQ(find_table(findings, "Other systems"), nullptr);
  ASSERT_NE(find_table(findings, "What it wins"), nullptr);
  EXPECT_EQ(find_table(findings, "What it wins")->rows.size(), 1U);
  EXPECT_EQ(findings.claims.size(), 3U);
}

}  // namespace
}  // namespace trainyard
