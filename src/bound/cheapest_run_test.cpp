#include "bound/cheapest_run.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <numeric>

#include "base/random.h"

namespace trainyard {
namespace {

Prices by_second(std::vector<double> price) {
  Prices prices{std::vector<double>(price.size() + 1), std::move(price)};
  std::iota(prices.from_s.begin(), prices.from_s.end(), 0.0);
  return prices;
}

/// The least over all sets of whole seconds: no other can be cheaper where prices hold for those.
double least_cost(const Prices& prices, const Gang& gang, unsigned horizon_s) {
  double least = std::numeric_limits<double>::infinity();
  const auto length_s = static_cast<int>(gang.length_s);
  const auto ready_s = static_cast<unsigned>(gang.ready_s);
  for (unsigned seconds = 0; seconds < 1U << horizon_s; ++seconds) {
    const bool is_early = (seconds & ((1U << ready_s) - 1)) != 0;
    if (is_early || std::popcount(seconds) != length_s) continue;
    double cost = std::bit_width(seconds);
    for (unsigned s = 0; s < horizon_s; ++s)
      if ((seconds >> s & 1U) != 0) cost += gang.gpus * prices.at(s);
    least = std::min(least, cost);
  }
  return least;
}

TEST(CheapestRun, PausesWhileGpuTimeIsDear) {
  const Prices prices = by_second({0, 2, 0, 0});
  const Gang gang{.length_s = 3, .gpus = 1};
  RunPlanner planner(prices);
  const CheapestRun run = planner.plan(gang);
  EXPECT_EQ(run.cost_s, 4);
  EXPECT_EQ(run.end_s, 4);
  std::vector<double> used(4);
  planner.add_use(gang, run, used);
  EXPECT_EQ(used, (std::vector<double>{1, 0, 1, 1}));
}

TEST(CheapestRun, OfAJobWithoutGpusIsAtOnce) {
  const Prices prices = by_second({5, 5});
  const CheapestRun run = RunPlanner(prices).plan({.ready_s = 0.5, .length_s = 3});
  EXPECT_EQ(run.cost_s, 3.5);
}

TEST(CheapestRun, GoesOnBehindTheLastCell) {
  const Prices prices = by_second({9, 9});
  EXPECT_EQ(RunPlanner(prices).plan({.length_s = 4, .gpus = 1}).cost_s, 6);
  EXPECT_EQ(RunPlanner(prices).plan({.ready_s = 2, .length_s = 4, .gpus = 1}).cost_s, 6);
}

TEST(CheapestRun, IsTheLeastOfAll) {
  constexpr unsigned kHorizonS = 12;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed, 1);
    std::vector<double> price(8);
    for (double& p : price) p = static_cast<double>(random.below(5)) / 2;
    const Prices prices = by_second(price);
    const Gang gang{.ready_s = static_cast<double>(random.below(4)),
                    .length_s = static_cast<double>(1 + random.below(4)),
                    .gpus = static_cast<double>(1 + random.below(3))};
    RunPlanner planner(prices);
    const CheapestRun run = planner.plan(gang);
    EXPECT_NEAR(run.cost_s, least_cost(prices, gang, kHorizonS), 1e-9);
    // What it uses is worth what it pays.
    std::vector<double> used(price.size());
    planner.add_use(gang, run, used);
    double paid = 0;
    for (std::size_t i = 0; i < used.size(); ++i) paid += used[i] * price[i];
    EXPECT_NEAR(run.end_s + paid, run.cost_s, 1e-9);
  }
}

}  // namespace
}  // namespace trainyard
