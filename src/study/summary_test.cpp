#include "study/summary.h"

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

TEST(Summary, NumbersInAUnitOfTheirSize) {
  using enum Quantity;
  EXPECT_EQ(to_text({0, 0}, seconds, true), "0 ± 0 s");
  EXPECT_EQ(to_text({0.25, 0.01}, seconds, true), "250 ± 10 ms");
  EXPECT_EQ(to_text({90, 1.5}, seconds, true), "90.0 ± 1.5 s");
  EXPECT_EQ(to_text({600, 30}, seconds, true), "10.0 ± 0.5 min");
  EXPECT_EQ(to_text({9000, 360}, seconds, false), "2.50 h");
  EXPECT_EQ(to_text({864'000, 86'400}, seconds, true), "10.0 ± 1.0 d");
  EXPECT_EQ(to_text({0.783, 0.004}, share, true), "78.3 ± 0.4 %");
  EXPECT_EQ(to_text({1.234, 0}, ratio, false), "1.23");
  EXPECT_EQ(to_text({12'345.6, 12}, ratio, true), "12346 ± 12");
  EXPECT_EQ(to_text({7, 0}, count, false), "7");
  EXPECT_EQ(to_text({7.5, 6.4}, count, true), "7.50 ± 6.40");
}

TEST(Summary, EndsOfAnInterval) {
  EXPECT_EQ(ends_text({9000, 360}, Quantity::seconds), "2.40 to 2.60 h");
  EXPECT_EQ(ends_text({0.02, 0.05}, Quantity::share), "-3.00 to 7.00 %");
  EXPECT_EQ(ends_text({7, 0}, Quantity::count), "7 to 7");
}

TEST(Summary, TextOfATable) {
  Comparison comparison;
  comparison.seeds = {1, 2};
  comparison.policies = {runs("fifo", 7200, 0.5, 0), runs("srtf", 3600, 0.75, 40)};
  const char* expected =
      R"(policy         JCT mean          JCT p50         JCT p95   wait mean   slowdown p95    utilisation   preemptions   JCT ratio
fifo      2.00 ± 0.00 h   60.0 ± 0.0 min   4.00 ± 0.00 h     0 ± 0 s          0 ± 0   50.0 ± 0.0 %        *0 ± 0        1.00
srtf    *60.0 ± 0.0 min  *30.0 ± 0.0 min  *2.00 ± 0.00 h     0 ± 0 s          0 ± 0  *75.0 ± 0.0 %        40 ± 0        0.50
mean over 2 seeds ± half of its 95% confidence interval; JCT ratio: mean JCT over that of fifo; *: best
)";
  EXPECT_EQ(to_text(summarize(comparison), false), expected);
}

TEST(Summary, ATerminalGetsTheBestInBold) {
  Comparison comparison;
  comparison.seeds = {1, 2};
  comparison.policies = {runs("fifo", 7200, 0.5, 0), runs("srtf", 3600, 0.75, 40)};
  const std::string text = to_text(summarize(comparison), true);
  EXPECT_NE(text.find("\033[1m60.0 ± 0.0 min\033[0m"), std::string::npos);
  EXPECT_EQ(text.find('*'), std::string::npos);
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
