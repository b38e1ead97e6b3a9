#include "bound/lower_bound.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "base/random.h"

namespace trainyard {
namespace {

Gang gang_of(double submit_s, double length_s, double gpus) {
  return {submit_s, submit_s, length_s, gpus};
}

/// The least sum of completion times of all schedules that decide at whole seconds, by dynamic
/// programming over what is left of each job. Pauses are free.
class LeastSum {
 public:
  LeastSum(std::vector<Gang> gangs, int gpus) : gangs_(std::move(gangs)), gpus_(gpus) {}

  double operator()() {
    std::vector<int> left;
    for (const Gang& gang : gangs_) left.push_back(static_cast<int>(gang.length_s));
    return from(0, left);
  }

 private:
  double from(int now, const std::vector<int>& left) {
    if (std::ranges::all_of(left, [](int s) { return s == 0; })) return 0;
    const auto [known, is_new] = known_.emplace(std::pair{now, left}, 1e18);
    if (!is_new) return known->second;
    double least = 1e18;
    for (unsigned chosen = 0; chosen < 1U << gangs_.size(); ++chosen)
      if (can_run(now, left, chosen)) least = std::min(least, after(now, left, chosen));
    return known_[{now, left}] = least;
  }

  [[nodiscard]] bool can_run(int now, const std::vector<int>& left, unsigned chosen) const {
    double used = 0;
    for (std::size_t j = 0; j < gangs_.size(); ++j) {
      if ((chosen >> j & 1U) == 0) continue;
      if (left[j] == 0 || gangs_[j].ready_s > now) return false;
      used += gangs_[j].gpus;
    }
    const bool all_have_come =
        std::ranges::all_of(gangs_, [&](const Gang& gang) { return gang.ready_s <= now; });
    return used <= gpus_ && (chosen != 0 || !all_have_come);
  }

  double after(int now, std::vector<int> left, unsigned chosen) {
    double ended = 0;
    for (std::size_t j = 0; j < gangs_.size(); ++j)
      if ((chosen >> j & 1U) != 0 && --left[j] == 0) ended += now + 1 - gangs_[j].submit_s;
    return ended + from(now + 1, left);
  }

  std::vector<Gang> gangs_;
  int gpus_;
  std::map<std::pair<int, std::vector<int>>, double> known_;
};

std::vector<Gang> random_gangs(Random& random, int gpus) {
  std::vector<Gang> gangs;
  for (std::uint64_t n = 2 + random.below(3); n > 0; --n)
    gangs.push_back(
        gang_of(static_cast<double>(random.below(5)), static_cast<double>(1 + random.below(5)),
                static_cast<double>(1 + random.below(static_cast<std::uint64_t>(gpus)))));
  return gangs;
}

TEST(LowerBound, OfTheWorkedExampleIsWhatTheBestScheduleHas) {
  const std::vector<Gang> gangs{gang_of(0, 3, 1), gang_of(1, 1, 1)};
  const LowerBound bound = lower_bound(gangs, 1);
  EXPECT_EQ(bound.jobs, 2U);
  EXPECT_EQ(bound.mean_run_s, 2);
  EXPECT_LE(bound.mean_jct_s, 2.5);
  EXPECT_NEAR(bound.mean_jct_s, 2.5, 0.01);
  EXPECT_EQ(LeastSum(gangs, 1)(), 5);
}

TEST(LowerBound, IsTheRunTimesWhereGpusAreMany) {
  const std::vector<Gang> gangs{gang_of(0, 3, 2), gang_of(1, 5, 2), gang_of(1, 7, 0)};
  const LowerBound bound = lower_bound(gangs, 4);
  EXPECT_NEAR(bound.mean_jct_s, 5, 1e-6);
  EXPECT_EQ(bound.prices.cells(), 1U) << "GPU time is worth nothing";
  EXPECT_EQ(bound.prices.at(0), 0);
}

TEST(LowerBound, OfNoJobsIsNothing) {
  EXPECT_EQ(lower_bound({}, 4).jobs, 0U);
}

TEST(LowerBound, OfJobsWithoutGpusNeedsNone) {
  const std::vector<Gang> gangs{gang_of(0, 3, 0)};
  EXPECT_NEAR(lower_bound(gangs, 0).mean_jct_s, 3, 1e-6);
}

/// A batch of equal jobs: prices fall as jobs end.
TEST(LowerBound, FallingPricesAreThoseOfABatch) {
  const std::vector<Gang> gangs(8, gang_of(0, 10, 1));
  const LowerBound bound = lower_bound(gangs, 1);
  EXPECT_LE(bound.mean_jct_s, 45);
  EXPECT_NEAR(bound.mean_jct_s, 45, 0.45);
  const auto& price = bound.prices.price;
  EXPECT_GT(price.front(), price[price.size() / 2]);
}

TEST(LowerBound, IsBelowTheBestScheduleAndCloseToIt) {
  double bounds = 0, bests = 0, runs = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed, 2);
    const int gpus = 1 + static_cast<int>(random.below(4));
    const std::vector<Gang> gangs = random_gangs(random, gpus);
    const double best = LeastSum(gangs, gpus)() / static_cast<double>(gangs.size());
    const LowerBound bound = lower_bound(gangs, gpus);
    EXPECT_LE(bound.mean_jct_s, best);
    EXPECT_GE(bound.mean_jct_s, bound.mean_run_s * (1 - 1e-8));
    bounds += bound.mean_jct_s, bests += best, runs += bound.mean_run_s;
  }
  EXPECT_GT(bounds, 0.93 * bests) << runs / bests << " by the run times alone";
}

/// Twice the time, or twice the GPUs of jobs and cluster, to the last bit.
TEST(LowerBound, ScalesWithTimesAndGpus) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed, 3);
    const std::vector<Gang> gangs = random_gangs(random, 3);
    std::vector<Gang> longer = gangs, wider = gangs;
    for (Gang& gang : longer) gang.submit_s *= 2, gang.ready_s *= 2, gang.length_s *= 2;
    for (Gang& gang : wider) gang.gpus *= 2;
    const double bound = lower_bound(gangs, 3).mean_jct_s;
    EXPECT_EQ(lower_bound(gangs, 3).mean_jct_s, bound);
    EXPECT_EQ(lower_bound(longer, 3).mean_jct_s, 2 * bound);
    EXPECT_EQ(lower_bound(wider, 6).mean_jct_s, bound);
  }
}

}  // namespace
}  // namespace trainyard
