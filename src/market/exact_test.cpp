#include "market/exact.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "market/testing.h"

namespace trainyard {
namespace {

/// The least cost by trying everything from this buyer and kind on, into `allocation`.
double least_cost(const Market& market, Allocation& allocation, std::size_t cell) {
  if (cell == market.size() * market.kinds())
    return market.fault_of(allocation).empty() ? market.cost(allocation)
                                               : std::numeric_limits<double>::infinity();
  const std::size_t buyer = cell / market.kinds(), kind = cell % market.kinds();
  std::int32_t& workers = allocation.of(buyer)[kind];
  double best = std::numeric_limits<double>::infinity();
  for (workers = 0; workers * market.buyer(buyer).gpus <= market.gpus(kind); ++workers)
    best = std::min(best, least_cost(market, allocation, cell + 1));
  workers = 0;
  return best;
}

double ways(const Market& market) {
  double product = 1;
  for (std::size_t i = 0; i < market.size(); ++i)
    for (std::size_t kind = 0; kind < market.kinds(); ++kind)
      product *= market.gpus(kind) / market.buyer(i).gpus + 1;
  return product;
}

TEST(Exact, IsTheBestOfAllOnRandomMarkets) {
  int tried = 0;
  for (std::uint64_t seed = 1; seed <= 4000; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    const RandomMarket made = small_market(seed, mixed_traits(seed));
    const Market& market = made.market;
    if (ways(market) > 5000) continue;
    ++tried;
    Allocation none(market.kinds(), market.size());
    const double least = least_cost(market, none, 0);
    const Allocation found = solve_exactly(market);
    if (least == std::numeric_limits<double>::infinity()) {
      ASSERT_EQ(found, Allocation(market.kinds()));
      continue;
    }
    ASSERT_EQ(market.fault_of(found), "");
    ASSERT_NEAR(market.cost(found), least, 1e-12 * least);
  }
  EXPECT_GT(tried, 1000);
}

TEST(Exact, StepsAreStatesTimesChoices) {
  Market market({2, 1});
  market.add({.iterations = 1, .max_workers = 2}, std::vector<double>{1, 1});
  market.add({.iterations = 1, .max_workers = 1, .idle_cost = 1}, std::vector<double>{1, 0});
  // 3 x 2 states; the first can have (1,0), (2,0), (0,1) and (1,1), the second (1,0) or nothing.
  EXPECT_EQ(exact_steps(market), 6 * 4 + 6 * 2);
}

TEST(Exact, OfNobody) {
  EXPECT_EQ(solve_exactly(Market({2, 2})), Allocation(2));
}

}  // namespace
}  // namespace trainyard
