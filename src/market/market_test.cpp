#include "market/market.h"

#include <gtest/gtest.h>

#include "market/solve.h"

namespace trainyard {
namespace {

using Workers = std::vector<std::int32_t>;

TEST(Market, ExampleOfItsHeader) {
  Market market({1, 1});
  market.add({.iterations = 100}, std::vector<double>{1, 2});
  market.add({.iterations = 100}, std::vector<double>{1, 4});
  const Allocation best = solve(market);
  EXPECT_EQ(market.cost(best), 125);
  EXPECT_EQ(best.of(1)[1], 1);
  Allocation other(2, 2);
  other.of(0)[1] = 1;
  other.of(1)[0] = 1;
  EXPECT_EQ(market.cost(other), 150);
}

TEST(Market, ComputingHidesAPartOfCommunication) {
  const std::vector<double> by_size = {0, 0, 3};
  const Buyer buyer{
      .iterations = 10, .unit_s = 4, .max_workers = 2, .overlap = 0.5, .communication_s = by_size};
  EXPECT_EQ(completion_s(buyer, 1, 1), 40);
  // 2 s of computing hide 1 s of the 3.
  EXPECT_EQ(completion_s(buyer, 2, 2), 10 * (2 + 2));
}

TEST(Market, FairnessWeighsOnThoseThatAnEqualPartWouldServeBetter) {
  const Buyer buyer{.iterations = 10, .weight = 2, .fair_s = 5};
  EXPECT_EQ(cost_of(buyer, 0, 1, 1), 2 * 10);
  EXPECT_EQ(cost_of(buyer, 0.5, 1, 1), 2 * 10 * (1 + 0.5 * 10 / 5));
}

TEST(Market, OnlyOneThatHasSomethingPaysForAChange) {
  Market market({4});
  const Buyer buyer{.iterations = 100, .max_workers = 4, .idle_cost = 1000, .change_cost = 7};
  market.add(buyer, std::vector<double>{1}, Workers{2});
  market.add(buyer, std::vector<double>{1});
  market.add(buyer, std::vector<double>{1}, Workers{0});
  EXPECT_EQ(market.cost(0, Workers{2}), 50);
  EXPECT_EQ(market.cost(0, Workers{4}), 25 + 7);
  EXPECT_EQ(market.cost(0, Workers{0}), 1000 + 7);
  EXPECT_EQ(market.cost(1, Workers{4}), 25);
  EXPECT_FALSE(market.has_some(2));
  EXPECT_EQ(market.cost(2, Workers{4}), 25) << "no workers are nothing to change";
}

TEST(Market, SaysWhatIsWrongWithAnAllocation) {
  Market market({4, 4});
  market.add({.iterations = 1, .min_workers = 2, .max_workers = 3, .gpus = 2},
             std::vector<double>{1, 1});
  market.add({.iterations = 1, .max_workers = 4, .mixes_kinds = false}, std::vector<double>{1, 1});
  market.add({.iterations = 1, .max_workers = 4}, std::vector<double>{1, 0});
  const auto fault = [&](const Workers& a, const Workers& b, const Workers& c) {
    Allocation allocation(2);
    for (const Workers& each : {a, b, c}) allocation.add(each);
    return market.fault_of(allocation);
  };
  EXPECT_EQ(fault({2, 0}, {0, 4}, {0, 0}), "");
  EXPECT_EQ(fault({1, 0}, {}, {}), "buyer 0 has 1 workers");
  EXPECT_EQ(fault({2, 2}, {}, {}), "buyer 0 has 4 workers");
  EXPECT_EQ(fault({}, {1, 1}, {}), "buyer 1 has workers of 2 kinds");
  EXPECT_EQ(fault({}, {}, {1, 1}), "buyer 2 has 1 workers of kind 1");
  EXPECT_EQ(fault({}, {}, {2, -1}), "buyer 2 has -1 workers of kind 1");
  EXPECT_EQ(fault({2, 0}, {1, 0}, {2, 0}), "3 GPUs of kind 0 are missing");
}

TEST(Market, KnowsWhatABuyerCanHave) {
  Market market({4, 4});
  market.add({.iterations = 1, .min_workers = 2, .max_workers = 3, .mixes_kinds = false},
             std::vector<double>{1, 0});
  EXPECT_TRUE(market.can_have(0, Workers{0, 0}));
  EXPECT_TRUE(market.can_have(0, Workers{3, 0}));
  EXPECT_FALSE(market.can_have(0, Workers{1, 0}));
  EXPECT_FALSE(market.can_have(0, Workers{4, 0}));
  EXPECT_FALSE(market.can_have(0, Workers{0, 2}));
  EXPECT_FALSE(market.can_have(0, Workers{1, 1}));
}

}  // namespace
}  // namespace trainyard
