#include "market/solve.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "market/exact.h"
#include "market/testing.h"
#include "market/trading.h"

namespace trainyard {
namespace {

constexpr std::uint64_t kMarkets = 300;

struct Gaps {
  double mean = 0, worst = 0;
  std::uint64_t worst_seed = 0;
  int missed = 0;  // markets in which somebody idles without end, and need not
};

Gaps gaps_to_exact(const MarketTraits& traits, const SolveOptions& options) {
  Gaps gaps;
  double sum = 0;
  int compared = 0;
  for (std::uint64_t seed = 1; seed <= kMarkets; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    const RandomMarket made = small_market(seed, traits);
    const Market& market = made.market;
    const Allocation found = solve(market, options);
    EXPECT_EQ(market.fault_of(found), "");
    EXPECT_EQ(found, solve(market, options)) << "the same again";
    const Allocation best = solve_exactly(market);
    if (best == Allocation(market.kinds())) continue;
    const double gap = market.cost(found) / market.cost(best) - 1;
    EXPECT_GE(gap, -1e-9);
    if (gap == std::numeric_limits<double>::infinity()) {
      ++gaps.missed;
      continue;
    }
    sum += gap;
    ++compared;
    if (gap > gaps.worst) {
      gaps.worst = gap;
      gaps.worst_seed = seed;
    }
  }
  gaps.mean = sum / compared;
  return gaps;
}

struct TraitsCase {
  const char* name;
  MarketTraits traits;
};

class SolveGap : public testing::TestWithParam<TraitsCase> {};

TEST_P(SolveGap, IsSmallOnRandomMarkets) {
  const Gaps gaps = gaps_to_exact(GetParam().traits, {});
  RecordProperty("mean_gap", fmt::format("{}", gaps.mean));
  RecordProperty("worst_gap", fmt::format("{} (seed {})", gaps.worst, gaps.worst_seed));
  EXPECT_LE(gaps.mean, 0.01) << "worst " << gaps.worst << " with seed " << gaps.worst_seed;
  EXPECT_LE(gaps.missed, 1);
}

INSTANTIATE_TEST_SUITE_P(
    Traits, SolveGap,
    testing::Values(TraitsCase{"plain", {}}, TraitsCase{"bounds", {.bounds = true}},
                    TraitsCase{"gpus", {.gpus = true}}, TraitsCase{"one_kind", {.one_kind = true}},
                    TraitsCase{"changes", {.changes = true}}, TraitsCase{"idle", {.idle = true}},
                    TraitsCase{"communication", {.communication = true}},
                    TraitsCase{"zeros", {.zeros = true}}, TraitsCase{"ties", {.ties = true}},
                    TraitsCase{"fairness", {.fairness = 1}},
                    TraitsCase{"pauses", {.bounds = true, .changes = true, .idle = true}},
                    TraitsCase{"shapes", {.bounds = true, .gpus = true, .one_kind = true}},
                    TraitsCase{"all_must_run",
                               {true, true, true, true, false, true, true, false, 0.5}},
                    TraitsCase{"all", {true, true, true, true, true, true, true, false, 0.5}},
                    TraitsCase{"all_tied", {true, true, true, true, true, true, true, true, 0.5}}),
    [](const auto& drawn) { return drawn.param.name; });

TEST(Solve, OfThePapersMethodAloneIsNearTheBest) {
  double sum = 0;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    const RandomMarket made = random_market(seed, {});
    const Allocation found =
        solve(made.market, {.draw = SolveOptions::Draw::even, .draws = 28, .trades = false});
    ASSERT_EQ(made.market.fault_of(found), "");
    sum += made.market.cost(found) / made.market.cost(solve_exactly(made.market)) - 1;
  }
  RecordProperty("mean_gap", fmt::format("{}", sum / 100));
  EXPECT_LE(sum / 100, 0.1);
}

TEST(Solve, DegenerateMarkets) {
  const std::vector<double> one = {1}, none = {0};
  const auto workers_of = [](const Market& market) {
    const Allocation found = solve(market);
    EXPECT_EQ(market.fault_of(found), "");
    std::vector<std::int32_t> workers;
    for (std::size_t i = 0; i < market.size(); ++i) workers.push_back(found.workers(i));
    return workers;
  };
  using Numbers = std::vector<std::int32_t>;
  EXPECT_EQ(workers_of(Market({4})), Numbers{});
  EXPECT_EQ(workers_of(Market({})), Numbers{});
  const auto with = [&](std::vector<std::int32_t> gpus, std::size_t buyers, const Buyer& buyer,
                        const std::vector<double>& power) {
    Market market(std::move(gpus));
    for (std::size_t i = 0; i < buyers; ++i) market.add(buyer, power);
    return workers_of(market);
  };
  const Buyer any{.iterations = 100, .max_workers = 8};
  EXPECT_EQ(with({}, 1, any, {}), Numbers{0}) << "no kinds";
  EXPECT_EQ(with({0}, 2, any, one), (Numbers{0, 0})) << "no GPUs";
  EXPECT_EQ(with({1}, 1, any, one), Numbers{1}) << "a single worker";
  EXPECT_EQ(with({20}, 1, any, one), Numbers{8}) << "one job, one kind";
  EXPECT_EQ(with({9}, 3, any, one), (Numbers{3, 3, 3})) << "identical buyers";
  EXPECT_EQ(with({8}, 1, any, none), Numbers{0}) << "runs nowhere";
  const Buyer exactly_2{.iterations = 100, .min_workers = 2, .max_workers = 2};
  EXPECT_EQ(with({5}, 2, exactly_2, one), (Numbers{2, 2})) << "min = max";
  const Numbers too_many = with({5}, 4, exactly_2, one);
  EXPECT_EQ(std::ranges::count(too_many, 2), 2) << "more jobs than workers";
  EXPECT_EQ(std::ranges::count(too_many, 0), 2);
  const Buyer too_large{.iterations = 100, .min_workers = 6, .max_workers = 8};
  EXPECT_EQ(with({5}, 1, too_large, one), Numbers{0}) << "never enough";
  EXPECT_EQ(with({3, 5}, 1, any, {0, 1}), Numbers{5}) << "zero power on a kind";
  const Buyer wide{.iterations = 100, .max_workers = 8, .gpus = 4};
  EXPECT_EQ(with({3, 6}, 1, wide, {1, 1}), Numbers{1}) << "workers of 4 GPUs each";
}

TEST(Solve, AsFewAsPossibleGetNothingWhereAllMustRun) {
  // The first that comes with its least leaves nothing for the two others.
  Market market({4});
  market.add({.iterations = 1000, .min_workers = 4, .max_workers = 4}, std::vector<double>{1});
  market.add({.iterations = 100, .min_workers = 2, .max_workers = 2}, std::vector<double>{1});
  market.add({.iterations = 100, .min_workers = 2, .max_workers = 2}, std::vector<double>{1});
  const Allocation found = solve(market);
  EXPECT_EQ(found.workers(0), 0);
  EXPECT_EQ(found.workers(1) + found.workers(2), 4);
}

TEST(TradeFromWhatTheyHave, LeavesASettledMarketAlone) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    const RandomMarket made = random_market(seed, {.buyers = 20, .gpus = {20, 30, 10}});
    const Allocation settled = solve(made.market);
    Market again({20, 30, 10});
    for (std::size_t i = 0; i < made.market.size(); ++i)
      again.add(made.market.buyer(i), made.market.power(i), settled.of(i));
    EXPECT_EQ(trade(again, again.has()), settled);
  }
}

TEST(TradeFromWhatTheyHave, AnArrivalGetsItsPartAndMovesFewOthers) {
  const RandomMarket made = random_market(1, {.buyers = 100, .gpus = {200, 200}});
  const Allocation settled = solve(made.market, {.shaken = 0});
  Market again({200, 200});
  for (std::size_t i = 0; i < made.market.size(); ++i) {
    Buyer buyer = made.market.buyer(i);
    buyer.change_cost = 0.1;
    again.add(buyer, made.market.power(i), settled.of(i));
  }
  again.add(made.market.buyer(0), made.market.power(0));
  const Allocation found = trade(again, again.has());
  EXPECT_EQ(again.fault_of(found), "");
  EXPECT_GT(found.workers(100), 0);
  int changed = 0;
  for (std::size_t i = 0; i < made.market.size(); ++i)
    changed += std::ranges::equal(found.of(i), settled.of(i)) ? 0 : 1;
  EXPECT_LE(changed, 20);
}

}  // namespace
}  // namespace trainyard
