// The market against Cbc, a solver of integer programs: a column for every bundle that a buyer can
// have, at its cost; each buyer has one, and no kind has more GPUs taken than there are. So it is
// linear and exact, whatever the costs of single bundles are.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <coin/CbcModel.hpp>
#include <coin/OsiClpSolverInterface.hpp>

#include "market/exact.h"
#include "market/solve.h"
#include "market/testing.h"

namespace trainyard {
namespace {

/// Of one column: which buyer it is of, what it costs and what it takes of each kind.
void add_column(CoinPackedMatrix& matrix, const Market& market, std::size_t buyer,
                const std::vector<std::int32_t>& workers) {
  CoinPackedVector column;
  column.insert(static_cast<int>(buyer), 1);
  for (std::size_t kind = 0; kind < market.kinds(); ++kind)
    if (workers[kind] > 0)
      column.insert(static_cast<int>(market.size() + kind),
                    workers[kind] * market.buyer(buyer).gpus);
  matrix.appendCol(column);
}

/// The next bundle, counting on; false after the last.
bool count_on(const Market& market, std::size_t buyer, std::vector<std::int32_t>& workers) {
  for (std::size_t kind = 0; kind < workers.size(); ++kind) {
    if (workers[kind] < market.buyer(buyer).max_workers &&
        (workers[kind] + 1) * market.buyer(buyer).gpus <= market.gpus(kind)) {
      ++workers[kind];
      return true;
    }
    workers[kind] = 0;
  }
  return false;
}

/// Of the best allocation; infinite when there is none.
double cost_by_cbc(const Market& market) {
  CoinPackedMatrix matrix(true, 0, 0);
  matrix.setDimensions(static_cast<int>(market.size() + market.kinds()), 0);
  std::vector<double> cost;
  for (std::size_t i = 0; i < market.size(); ++i) {
    std::vector<std::int32_t> workers(market.kinds());
    do {
      if (!market.can_have(i, workers) ||
          market.cost(i, workers) == std::numeric_limits<double>::infinity())
        continue;
      add_column(matrix, market, i, workers);
      cost.push_back(market.cost(i, workers));
    } while (count_on(market, i, workers));
  }
  std::vector<double> lower(market.size(), 1), upper(market.size(), 1);
  for (std::size_t kind = 0; kind < market.kinds(); ++kind) {
    lower.push_back(0);
    upper.push_back(market.gpus(kind));
  }
  const std::vector<double> none(cost.size(), 0), one(cost.size(), 1);
  OsiClpSolverInterface linear;
  linear.setHintParam(OsiDoReducePrint, true);
  linear.messageHandler()->setLogLevel(0);
  linear.loadProblem(matrix, none.data(), one.data(), cost.data(), lower.data(), upper.data());
  for (std::size_t c = 0; c < cost.size(); ++c) linear.setInteger(static_cast<int>(c));
  CbcModel model(linear);
  model.setLogLevel(0);
  model.setAllowableGap(0);
  model.branchAndBound();
  return model.isProvenOptimal() ? model.getObjValue() : std::numeric_limits<double>::infinity();
}

TEST(MarketAndCbc, TheExactSolverAgrees) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    const RandomMarket made = small_market(seed, mixed_traits(seed));
    const Allocation best = solve_exactly(made.market);
    const double cost = cost_by_cbc(made.market);
    if (best == Allocation(made.market.kinds()))
      ASSERT_EQ(cost, std::numeric_limits<double>::infinity());
    else
      ASSERT_NEAR(made.market.cost(best), cost, 1e-7 * cost);
  }
}

TEST(MarketAndCbc, OursIsNearTheBestInMarketsTooLargeForTheExactSolver) {
  double sum = 0, worst = 0;
  constexpr int kCases = 10;
  for (std::uint64_t seed = 1; seed <= kCases; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    const RandomMarket made = random_market(
        seed, {.buyers = 20, .gpus = {20, 10, 30, 15}, .max_workers = 5, .communication = 0.3});
    const Allocation found = solve(made.market);
    ASSERT_EQ(made.market.fault_of(found), "");
    const double gap = made.market.cost(found) / cost_by_cbc(made.market) - 1;
    ASSERT_GE(gap, -1e-6);
    sum += gap;
    worst = std::max(worst, gap);
  }
  RecordProperty("mean_gap", fmt::format("{}", sum / kCases));
  RecordProperty("worst_gap", fmt::format("{}", worst));
  EXPECT_LE(sum / kCases, 0.0204);
}

}  // namespace
}  // namespace trainyard
