#include "market/market.h"

#include <gtest/gtest.h>

#include "market/solve.h"

namespace trainyard {
namespace {

TEST(Market, ExampleOfItsHeader) {
  Market market({1, 1});
  market.add({.iterations = 100}, std::vector<double>{1, 2});
  market.add({.iterations = 100}, std::vector<double>{1, 4});
  const Allocation best = solve(market);
  EXPECT_EQ(market.cost(best), 125);
  EXPECT_EQ(best.of(1)[1], 1);
}

}  // namespace
}  // namespace trainyard
