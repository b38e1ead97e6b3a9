#include "market/trading.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "market/testing.h"

namespace trainyard {
namespace {

using Held = std::vector<std::int32_t>;

Allocation held(std::size_t kinds, const std::vector<Held>& workers) {
  Allocation allocation(kinds);
  for (const Held& each : workers) allocation.add(each);
  return allocation;
}

/// Every buyer in turn has something that is left, or nothing.
Allocation draw_start(Random& random, const Market& market) {
  std::vector<std::int32_t> left;
  for (std::size_t kind = 0; kind < market.kinds(); ++kind) left.push_back(market.gpus(kind));
  Allocation start(market.kinds());
  for (std::size_t i = 0; i < market.size(); ++i) {
    const std::vector<double> power(market.power(i).begin(), market.power(i).end());
    start.add(random.below(4) == 0 ? Held{} : draw_workers(random, market.buyer(i), power, left));
  }
  return start;
}

/// Buyers whose costs lie up to 12 powers of ten apart.
Market on_many_scales(Random& random, const Market& market) {
  std::vector<std::int32_t> gpus;
  for (std::size_t kind = 0; kind < market.kinds(); ++kind) gpus.push_back(market.gpus(kind));
  Market scaled(gpus, market.fairness());
  for (std::size_t i = 0; i < market.size(); ++i) {
    Buyer buyer = market.buyer(i);
    const double scale = std::pow(10, random.uniform(-6, 6));
    for (double* figure :
         {&buyer.iterations, &buyer.fair_s, &buyer.idle_cost, &buyer.change_cost, &buyer.pause_s})
      *figure *= scale;
    scaled.add(buyer, market.power(i), market.has_some(i) ? market.has().of(i) : Held{});
  }
  return scaled;
}

void expect_no_loss(const Market& market, const Allocation& start) {
  ASSERT_EQ(market.fault_of(start), "");
  const Allocation traded = trade(market, start);
  ASSERT_EQ(market.fault_of(traded), "");
  for (std::size_t i = 0; i < market.size(); ++i)
    ASSERT_FALSE(market.cost(i, start.of(i)) < std::numeric_limits<double>::infinity() &&
                 market.cost(i, traded.of(i)) == std::numeric_limits<double>::infinity());
  ASSERT_LE(market.cost(traded), market.cost(start) * (1 + 1e-12));
  ASSERT_EQ(trade(market, traded), traded) << "it ends where no trade is left";
}

TEST(Trading, ABuyerThatNoSingleKindHasRoomForBeginsOnSeveral) {
  Market market({2, 2});
  market.add({.iterations = 100, .min_workers = 3, .max_workers = 3, .idle_cost = 1e6},
             std::vector<double>{1, 2});
  const Allocation found = trade(market, Allocation(2, 1));
  EXPECT_EQ(found.of(0)[0], 1);
  EXPECT_EQ(found.of(0)[1], 2);
}

TEST(Trading, NeverRaisesTheCostAndEndsWithoutFault) {
  for (std::uint64_t seed = 1; seed <= 3000; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    const RandomMarket made = small_market(seed, mixed_traits(seed));
    Random random(seed, 1);
    ASSERT_NO_FATAL_FAILURE(expect_no_loss(made.market, draw_start(random, made.market)));
    ASSERT_NO_FATAL_FAILURE(expect_no_loss(made.market, made.market.has()));
    const Market scaled = on_many_scales(random, made.market);
    ASSERT_NO_FATAL_FAILURE(expect_no_loss(scaled, draw_start(random, scaled)));
  }
}

TEST(Trading, NeverRaisesTheCostOfLargerMarkets) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    const RandomMarket made = random_market(
        seed, {.buyers = 50 + 10 * seed, .gpus = {100, 300, 50}, .communication = 0.3});
    Random random(seed, 1);
    ASSERT_NO_FATAL_FAILURE(expect_no_loss(made.market, draw_start(random, made.market)));
    const Market scaled = on_many_scales(random, made.market);
    ASSERT_NO_FATAL_FAILURE(expect_no_loss(scaled, draw_start(random, scaled)));
  }
}

TEST(Trading, BuysInBlocksThatPayForThePause) {
  Market market({8});
  market.add({.iterations = 100, .max_workers = 8, .change_cost = 60}, std::vector<double>{1},
             Held{1});
  // One worker more gains 50 s, which is less than the pause; seven gain 87.5 s.
  EXPECT_EQ(trade(market, market.has()).of(0)[0], 8);
}

TEST(Trading, GivesBackWhatCommunicationMakesUseless) {
  const std::vector<double> by_size = {0, 0, 10, 20, 30};
  Market market({4});
  market.add({.iterations = 100, .max_workers = 4, .communication_s = by_size},
             std::vector<double>{1});
  EXPECT_EQ(trade(market, held(1, {{4}})).of(0)[0], 1);
}

TEST(Trading, OneThatDoesNotMixKindsLeavesItsKind) {
  Market market({2, 4});
  market.add({.iterations = 100, .max_workers = 4, .mixes_kinds = false},
             std::vector<double>{1, 3});
  EXPECT_EQ(trade(market, held(2, {{2, 0}})), held(2, {{0, 4}}));
}

TEST(Trading, OneThatMustRunTakesTheLastWorkersOfOneThatNeedNot) {
  Market market({1, 1});
  market.add({.iterations = 100, .min_workers = 2, .max_workers = 2, .idle_cost = 60},
             std::vector<double>{1, 1});
  market.add({.iterations = 1000}, std::vector<double>{1, 0});
  EXPECT_EQ(trade(market, held(2, {{1, 1}, {0, 0}})), held(2, {{0, 0}, {1, 0}}));
}

TEST(Trading, GoesBackToWhatABuyerHad) {
  Market market({2, 2});
  market.add({.iterations = 100, .max_workers = 2, .change_cost = 30}, std::vector<double>{1, 1.1},
             Held{2, 0});
  market.add({.iterations = 100, .max_workers = 2, .change_cost = 30}, std::vector<double>{1, 1.1},
             Held{0, 2});
  EXPECT_EQ(trade(market, held(2, {{0, 2}, {2, 0}})), market.has());
}

}  // namespace
}  // namespace trainyard
