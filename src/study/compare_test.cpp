#include "study/compare.h"

#include <gtest/gtest.h>

#include <atomic>
#include <nlohmann/json.hpp>

#include "study/json.h"
#include "study/report/summary.h"
#include "study/testing.h"

namespace trainyard {
namespace {

Expected<Run> simulate(const std::string& policy, std::uint64_t seed) {
  return sample_run(policy, seed, {.jobs = 50});
}

Expected<Run> fails_from_fifo_3(const std::string& policy, std::uint64_t seed) {
  if (policy != "fifo" || seed > 2) return fail("{} {} failed", policy, seed);
  return simulate(policy, seed);
}

TEST(Compare, RunsStandInTheOrderAskedFor) {
  const auto runs = run_all({{"srtf", "fifo", "las"}, {9, 3, 5}, 2}, simulate);
  ASSERT_TRUE(runs);
  ASSERT_EQ(runs->size(), 3U);
  EXPECT_EQ((*runs)[0].policy, "srtf");
  EXPECT_EQ((*runs)[2].policy, "las");
  for (const PolicyRuns& policy : *runs) {
    ASSERT_EQ(policy.runs.size(), 3U);
    EXPECT_EQ(policy.runs[0].result.seed, 9U);
    EXPECT_EQ(policy.runs[2].result.seed, 5U);
    EXPECT_EQ(policy.runs[1].result.policy, policy.policy);
  }
}

TEST(Compare, ThreadsDoNotChangeAByte) {
  const std::vector<std::string> policies{"fifo", "srtf", "fitgpp", "dally"};
  const std::vector<std::uint64_t> seeds{1, 2, 3, 4, 5};
  const Comparison one = sample_comparison(policies, seeds, {}, 1);
  for (const int threads : {2, 7, 0}) {
    const Comparison many = sample_comparison(policies, seeds, {}, threads);
    EXPECT_EQ(to_text(to_json(one)), to_text(to_json(many)));
    EXPECT_EQ(to_text(summarize(one), false), to_text(summarize(many), false));
  }
}

TEST(Compare, NoMoreRunsAtOnceThanThreads) {
  std::atomic<int> now = 0, most = 0;
  const auto runs = run_all({{"a", "b", "c", "d"}, {1, 2, 3, 4}, 2},
                            [&](const std::string& policy, std::uint64_t seed) {
                              const int here = ++now;
                              int seen = most;
                              while (here > seen && !most.compare_exchange_weak(seen, here)) {
                              }
                              auto run = simulate(policy, seed);
                              --now;
                              return run;
                            });
  ASSERT_TRUE(runs);
  EXPECT_LE(most, 2);
}

TEST(Compare, TheFirstFailureIsReturnedAndStopsTheRest) {
  for (const int threads : {1, 2, 4}) {
    std::atomic<int> begun = 0;
    const auto runs = run_all({{"fifo", "srtf", "las"}, {1, 2, 3, 4}, threads},
                              [&](const std::string& policy, std::uint64_t seed) {
                                ++begun;
                                return fails_from_fifo_3(policy, seed);
                              });
    ASSERT_FALSE(runs);
    EXPECT_EQ(runs.error().message, "fifo 3 failed");
    if (threads == 1) {
      EXPECT_LT(begun, 12);
    }
  }
}

TEST(Compare, EveryRunIsReported) {
  std::atomic<int> done = 0;
  ASSERT_TRUE(run_all({{"a", "b"}, {1, 2, 3}, 2, [&] { ++done; }}, simulate));
  EXPECT_EQ(done, 6);
}

TEST(Compare, RefusesWhatMakesNoSense) {
  const auto message = [](CompareOptions options) {
    return run_all(options, simulate).error().message;
  };
  EXPECT_EQ(message({{}, {1}}), "no policy to compare; name at least one");
  EXPECT_EQ(message({{"fifo"}, {}}), "no seed to run with; give at least one");
  EXPECT_EQ(message({{"a", "b", "a"}, {1}}), "policy 'a' is named twice; name each once");
  EXPECT_EQ(message({{"a"}, {4, 4}}), "seed 4 is given twice; give each once");
  EXPECT_EQ(message({{"a"}, {1}, -1}), "-1 threads; give 1 or more, or 0 for one a core");
}

TEST(Compare, OverSeedsTakesTheMetricOfEachRun) {
  const Comparison comparison = sample_comparison({"fifo"}, {1, 2, 3});
  EXPECT_EQ(over_seeds(comparison.policies[0],
                       [](const Result& r) { return static_cast<double>(r.seed); }),
            (std::vector<double>{1, 2, 3}));
}

TEST(Compare, KnowsWhetherBothClassesExist) {
  EXPECT_TRUE(has_both_classes(sample_comparison({"a"}, {1})));
  EXPECT_FALSE(has_both_classes(sample_comparison({"a"}, {1}, {.trial_share = 0})));
  EXPECT_FALSE(has_both_classes(sample_comparison({"a"}, {1}, {.trial_share = 1})));
  EXPECT_FALSE(has_both_classes({}));
}

}  // namespace
}  // namespace trainyard
