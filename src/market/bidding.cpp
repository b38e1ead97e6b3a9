#include "market/bidding.h"

#include <cmath>

namespace trainyard {
namespace {

// Bids move by some per cent in the first rounds and by less than rounding to workers can see after
// these.
constexpr int kRounds = 60;

}  // namespace

std::vector<double> divide(const Market& market) {
  const std::size_t kinds = market.kinds();
  std::vector<double> bids(market.size() * kinds), got(bids.size()), budget(market.size());
  for (std::size_t i = 0; i < market.size(); ++i) {
    const Buyer& buyer = market.buyer(i);
    budget[i] = std::sqrt(buyer.weight * buyer.iterations * buyer.unit_s);
    double powers = 0;
    for (const double power : market.power(i)) powers += power;
    for (std::size_t kind = 0; kind < kinds && powers > 0; ++kind)
      bids[i * kinds + kind] = budget[i] * market.power(i)[kind] / powers;
  }
  std::vector<double> price(kinds);
  for (int round = 0; round < kRounds; ++round) {
    std::ranges::fill(price, 0);
    for (std::size_t cell = 0; cell < bids.size(); ++cell) price[cell % kinds] += bids[cell];
    for (std::size_t kind = 0; kind < kinds; ++kind) price[kind] /= std::max(market.gpus(kind), 1);
    for (std::size_t i = 0; i < market.size(); ++i) {
      const Buyer& buyer = market.buyer(i);
      double power = 0;
      for (std::size_t kind = 0; kind < kinds; ++kind) {
        double& workers = got[i * kinds + kind];
        workers = market.gpus(kind) > 0 && price[kind] > 0
                      ? bids[i * kinds + kind] / (price[kind] * buyer.gpus)
                      : 0;
        power += workers * market.power(i)[kind];
      }
      if (power <= 0) continue;
      // Halfway, on a scale of ratios, between the last budget and what it should have been.
      budget[i] = std::sqrt(budget[i] * buyer.weight * buyer.iterations * buyer.unit_s / power);
      for (std::size_t kind = 0; kind < kinds; ++kind)
        bids[i * kinds + kind] = budget[i] * got[i * kinds + kind] * market.power(i)[kind] / power;
    }
  }
  return got;
}

}  // namespace trainyard
