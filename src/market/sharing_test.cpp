#include "market/sharing.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "market/exact.h"
#include "market/testing.h"

namespace trainyard {
namespace {

TEST(Sharing, ExampleOfItsHeader) {
  Market market({1, 1});
  market.add({.iterations = 100}, std::vector<double>{1, 2});
  market.add({.iterations = 100}, std::vector<double>{1, 4});
  Sharing sharing(market);
  EXPECT_EQ(sharing.share(0, 1, std::vector<std::int32_t>{1, 1}), 125);
  EXPECT_EQ(sharing.of_one(), (std::vector<std::int32_t>{1, 0}));
  EXPECT_EQ(sharing.of_other(), (std::vector<std::int32_t>{0, 1}));
}

TEST(Sharing, IsWhatTheExactSolverFindsForTwo) {
  std::size_t pairs = 0;
  for (std::uint64_t seed = 1; seed <= 3000; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    const RandomMarket made = small_market(seed, mixed_traits(seed));
    const Market& market = made.market;
    if (market.size() != 2) continue;
    ++pairs;
    std::vector<std::int32_t> gpus;
    for (std::size_t kind = 0; kind < market.kinds(); ++kind) gpus.push_back(market.gpus(kind));
    Sharing sharing(market);
    const double cost = sharing.share(1, 0, gpus);
    const Allocation best = solve_exactly(market);
    if (best == Allocation(market.kinds())) {
      ASSERT_EQ(cost, std::numeric_limits<double>::infinity());
      continue;
    }
    ASSERT_NEAR(cost, market.cost(best), 1e-12 * cost);
    Allocation shared(market.kinds());
    shared.add(sharing.of_other());
    shared.add(sharing.of_one());
    ASSERT_EQ(market.fault_of(shared), "");
    ASSERT_NEAR(market.cost(shared), cost, 1e-12 * cost);
  }
  EXPECT_GT(pairs, 300);
}

}  // namespace
}  // namespace trainyard
