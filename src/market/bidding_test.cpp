#include "market/bidding.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "market/testing.h"

namespace trainyard {
namespace {

double work_of(const Buyer& buyer) {
  return buyer.weight * buyer.iterations * buyer.unit_s;
}

/// By what share the sum of work / power is at most above the least there is. By convexity the
/// least is no further away than what all workers would bring at the prices of those that value
/// them most, less what they bring to those that have them; where that is nothing, the condition of
/// bidding.h holds.
double relative_gap(const Market& market, const std::vector<double>& division) {
  const std::size_t kinds = market.kinds();
  std::vector<double> price(kinds);
  double sum = 0;
  for (std::size_t i = 0; i < market.size(); ++i) {
    double power = 0;
    for (std::size_t kind = 0; kind < kinds; ++kind)
      power += division[i * kinds + kind] * market.power(i)[kind];
    if (power <= 0) continue;
    const double work = work_of(market.buyer(i));
    sum += work / power;
    for (std::size_t kind = 0; kind < kinds; ++kind)
      price[kind] = std::max(price[kind],
                             work * market.power(i)[kind] / (power * power * market.buyer(i).gpus));
  }
  double brought = 0;
  for (std::size_t kind = 0; kind < kinds; ++kind) brought += price[kind] * market.gpus(kind);
  return brought / sum - 1;
}

void expect_all_divided(const Market& market, const std::vector<double>& division) {
  for (std::size_t kind = 0; kind < market.kinds(); ++kind) {
    double used = 0;
    for (std::size_t i = 0; i < market.size(); ++i) {
      const double workers = division[i * market.kinds() + kind];
      ASSERT_GE(workers, 0);
      ASSERT_TRUE(workers == 0 || market.power(i)[kind] > 0);
      used += workers * market.buyer(i).gpus;
    }
    ASSERT_TRUE(used == 0 || std::abs(used - market.gpus(kind)) < 1e-9 * market.gpus(kind));
  }
}

TEST(Bidding, OneKindIsDividedByTheRootsOfTheWork) {
  Market market({9});
  market.add({.iterations = 100}, std::vector<double>{1});
  market.add({.iterations = 400}, std::vector<double>{1});
  const std::vector<double> division = divide(market);
  EXPECT_NEAR(division[0], 3, 1e-6);
  EXPECT_NEAR(division[1], 6, 1e-6);
}

TEST(Bidding, ComesToRestWhereNoDivisionIsBetter) {
  double worst = 0;
  for (std::uint64_t seed = 1; seed <= 500; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    const RandomMarket small = small_market(seed, {.gpus = true});
    const RandomMarket large =
        random_market(seed, {.buyers = 100, .gpus = {40, 200, 3, 90}, .communication = 0});
    for (const Market* market : {&small.market, &large.market}) {
      const std::vector<double> division = divide(*market);
      ASSERT_NO_FATAL_FAILURE(expect_all_divided(*market, division));
      worst = std::max(worst, relative_gap(*market, division));
    }
  }
  RecordProperty("worst_gap", fmt::format("{}", worst));
  EXPECT_LE(worst, 0.02);
}

TEST(Bidding, LeavesOutThoseThatCanRunNowhereAndKindsThatAreNotThere) {
  EXPECT_TRUE(divide(Market({3, 3})).empty());
  Market market({4, 0});
  market.add({.iterations = 100}, std::vector<double>{1, 5});
  market.add({.iterations = 100}, std::vector<double>{0, 0});
  market.add({.iterations = 100}, std::vector<double>{0, 1});
  EXPECT_EQ(divide(market), (std::vector<double>{4, 0, 0, 0, 0, 0}));
}

}  // namespace
}  // namespace trainyard
