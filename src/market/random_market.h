// Random markets, as the study and the benchmarks draw them.
#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "base/random.h"
#include "market/market.h"

namespace trainyard {

/// Jobs of random lengths and speeds.
struct MarketShape {
  std::size_t buyers = 3;
  std::vector<std::int32_t> gpus = std::vector<std::int32_t>(9, 1);  // of each kind
  std::int32_t max_workers = 0;                                      // 0: all there are
  double communication = 0;  // what it takes on all workers, over computing on one
};

struct RandomMarket {
  Market market;
  std::unique_ptr<std::deque<std::vector<double>>> communication;
};

inline RandomMarket random_market(std::uint64_t seed, const MarketShape& shape) {
  Random random(seed);
  std::int32_t all = 0;
  for (const std::int32_t gpus : shape.gpus) all += gpus;
  RandomMarket made{Market(shape.gpus), std::make_unique<std::deque<std::vector<double>>>()};
  const std::int32_t most = shape.max_workers > 0 ? std::min(shape.max_workers, all) : all;
  for (std::size_t i = 0; i < shape.buyers; ++i) {
    Buyer buyer{.iterations = random.uniform(100, 1000),
                .unit_s = random.uniform(0.5, 2),
                .max_workers = most};
    if (shape.communication > 0) {
      const double full = shape.communication * buyer.unit_s * random.uniform();
      std::vector<double>& by_size = made.communication->emplace_back(1, 0);
      for (std::int32_t k = 1; k <= most; ++k) by_size.push_back(full * (k - 1) / k);
      buyer.communication_s = by_size;
    }
    std::vector<double> power;
    for (std::size_t kind = 0; kind < shape.gpus.size(); ++kind)
      power.push_back(random.uniform(1, 10));
    made.market.add(buyer, power);
  }
  return made;
}

}  // namespace trainyard
