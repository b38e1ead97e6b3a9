#include "study/report/summary.h"

#include <gtest/gtest.h>

#include "study/testing.h"

namespace trainyard {
namespace {

/// Two seeds of a policy whose mean JCT is `jct_s` in both, and so on.
PolicyRuns runs(const std::string& policy, double jct_s, double utilization,
                std::uint64_t preemptions) {
  PolicyRuns result{policy, {}};
  for (int seed = 1; seed <= 2; ++seed) {
    Run run;
    run.result.all.jobs = 1;
    run.result.all.jct_s = {jct_s, jct_s / 2, jct_s * 2, 0, 0};
    run.result.gpu_utilization = utilization;
    run.result.preemptions = preemptions;
    result.runs.push_back(run);
  }
  return result;
}

Comparison two_policies() {
  Comparison comparison;
  comparison.seeds = {1, 2};
  comparison.policies = {runs("fifo", 7200, 0.5, 0), runs("srtf", 3600, 0.75, 40)};
  return comparison;
}

TEST(Summary, ARowForTheLowerBound) {
  Comparison comparison = two_policies();
  comparison.bounds = {LowerBound{.jobs = 1, .mean_jct_s = 1800, .mean_run_s = 900},
                       LowerBound{.jobs = 1, .mean_jct_s = 1800, .mean_run_s = 900}};
  const SummaryTable table = summarize(comparison);
  ASSERT_EQ(table.rows.size(), 3U);
  const auto& row = table.rows.back();
  ASSERT_EQ(row.size(), table.header.size());
  EXPECT_EQ(row.front().text, "lower bound");
  EXPECT_EQ(joined(row[1]), "30.0 ± 0.0");
  EXPECT_EQ(joined(row[2]), "-");
  EXPECT_EQ(joined(row.back()), "0.25");
  EXPECT_TRUE(table.rows[1][1].best) << "of the policies";
  EXPECT_EQ(against_the_best(comparison).rows.size(), 2U);
}

TEST(Summary, TextOfATable) {
  const char* expected =
      R"(policy   JCT mean (h)   JCT p50 (min)   JCT p95 (h)   wait mean (s)   slowdown p95   utilisation (%)   preemptions   JCT ratio
fifo      2.00 ± 0.00      60.0 ± 0.0   4.00 ± 0.00           0 ± 0          0 ± 0        50.0 ± 0.0        *0 ± 0        1.00
srtf     *1.00 ± 0.00     *30.0 ± 0.0  *2.00 ± 0.00           0 ± 0          0 ± 0       *75.0 ± 0.0        40 ± 0        0.50
Numbers are means over 2 seeds ± half the width of their 95% confidence intervals. JCT ratio is the mean JCT over that of fifo.
* marks the best of a column where, compared seed by seed, all others are told apart from it.
)";
  EXPECT_EQ(to_text(summarize(two_policies()), false), expected);
}

TEST(Summary, ATerminalGetsTheBestInBoldAsWell) {
  const std::string text = to_text(summarize(two_policies()), true);
  EXPECT_NE(text.find("*\033[1m1.00 ± 0.00\033[0m"), std::string::npos);
}

std::vector<bool> best(const std::vector<std::vector<double>>& values, bool more = false) {
  return best_of(values, more);
}

TEST(Best, IsTheLeastOrTheMost) {
  EXPECT_EQ(best({{3, 3}, {1, 1}, {2, 2}}), (std::vector<bool>{false, true, false}));
  EXPECT_EQ(best({{3, 3}, {1, 1}, {2, 2}}, true), (std::vector<bool>{true, false, false}));
}

TEST(Best, SeedsThatDisagreeNameNoWinner) {
  EXPECT_EQ(best({{10, 12, 11}, {11, 10, 12.5}}), (std::vector<bool>{false, false}));
  EXPECT_EQ(best({{10, 12, 11}, {11, 10, 12.5}, {90, 92, 91}}),
            (std::vector<bool>{false, false, false}))
      << "two are not told apart, though both are better than the third";
}

TEST(Best, EqualOnesWinTogether) {
  EXPECT_EQ(best({{4, 4}, {4, 4}}), (std::vector<bool>{false, false})) << "against nobody";
  EXPECT_EQ(best({{0, 0, 0}, {0, 0, 0}, {7, 9, 8}}), (std::vector<bool>{true, true, false}));
}

TEST(Best, OneSeedTellsNoneApart) {
  EXPECT_EQ(best({{3}, {2.9}}), (std::vector<bool>{false, false}));
}

TEST(Best, OfOneOrOfNothingThereIsNone) {
  EXPECT_EQ(best({{3, 4}}), std::vector<bool>{false});
  EXPECT_TRUE(best({}).empty());
}

TEST(Best, SeedsAreComparedOneByOne) {
  // The second is 10% worse with every seed; what differs between the seeds is far more than that.
  EXPECT_EQ(best({{10, 100, 1000}, {11, 110, 1100}}), (std::vector<bool>{true, false}));
  EXPECT_EQ(best({{10, 100, 1000}, {11, 110, 1100}}, true), (std::vector<bool>{false, true}));
}

TEST(Best, TheLeastMeanIsNotEnough) {
  // The first has half of the second but for one seed.
  EXPECT_EQ(best({{5, 5, 5, 90}, {10, 10, 10, 10}}), (std::vector<bool>{false, false}));
}

TEST(Summary, RatiosToTheBestAreTakenSeedBySeed) {
  Comparison comparison = two_policies();
  for (PolicyRuns& policy : comparison.policies) policy.runs[1].result.all.jct_s.mean *= 100;
  const SummaryTable table = against_the_best(comparison);
  ASSERT_EQ(table.header,
            (std::vector<std::string>{"policy", "JCT mean", "JCT p50", "JCT p95", "utilisation"}))
      << "not those with a 0 in them";
  EXPECT_EQ(joined(table.rows[0][1]), "2.00 (2.00 to 2.00)")
      << "the seeds' difference does not blur it";
  EXPECT_EQ(joined(table.rows[1][1]), "1.00");
  EXPECT_FALSE(table.rows[0][1].best);
  EXPECT_TRUE(table.rows[1][1].best);
}

TEST(Summary, ClassesApartWhenThereAreBoth) {
  const auto header = [](double trial_share) {
    return summarize(sample_comparison({"a", "b"}, {1}, {.trial_share = trial_share})).header;
  };
  EXPECT_EQ(header(0.3)[5], "trial slowdown p95");
  EXPECT_EQ(header(0.3)[6], "batch slowdown p95");
  EXPECT_EQ(header(0)[5], "slowdown p95");
}

TEST(Summary, OneSeedHasNoIntervals) {
  const std::string text = to_text(summarize(sample_comparison({"a"}, {1})), false);
  EXPECT_EQ(text.find("±"), std::string::npos);
  EXPECT_EQ(text.find('*'), std::string::npos) << "one policy is not the best of anything";
}

TEST(Summary, NoJctNoRatio) {
  Comparison comparison;
  comparison.seeds = {1, 2};
  comparison.policies = {runs("fifo", 0, 0, 0), runs("srtf", 1, 0, 0)};
  EXPECT_EQ(summarize(comparison).rows[1].back().text, "-");
}

TEST(Summary, NothingToShow) {
  EXPECT_TRUE(summarize(Comparison{}).rows.empty());
}

}  // namespace
}  // namespace trainyard
