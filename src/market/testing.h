// Random markets with all that buyers may have, for tests.
#pragma once

#include <vector>

#include "market/random_market.h"

namespace trainyard {

/// What buyers of a small market may have beside lengths and speeds. Each comes with a chance.
struct MarketTraits {
  bool bounds = false;         // least and most numbers of workers, some of them equal
  bool gpus = false;           // several for each worker
  bool one_kind = false;       // some do not mix kinds
  bool changes = false;        // some have workers already, and changing them costs
  bool idle = false;           // to get nothing costs something finite
  bool communication = false;  // tables by size, of which computing hides a part
  bool zeros = false;          // some cannot run on some kinds
  bool ties = false;           // lengths and speeds are small whole numbers
  double fairness = 0;
};

/// A mixture that differs from seed to seed.
inline MarketTraits mixed_traits(std::uint64_t seed) {
  return {.bounds = seed % 2 == 0,
          .gpus = seed % 3 == 0,
          .one_kind = seed % 5 < 3,
          .changes = seed % 7 < 4,
          .idle = seed % 11 < 6,
          .communication = seed % 2 == 1,
          .zeros = seed % 3 == 1,
          .ties = seed % 5 == 0,
          .fairness = seed % 7 == 0 ? 0.0 : 1.0};
}

/// Workers that a buyer with these powers could have of those GPUs; none where it finds none.
inline std::vector<std::int32_t> draw_workers(Random& random, const Buyer& buyer,
                                              const std::vector<double>& power,
                                              std::vector<std::int32_t>& left) {
  std::vector<std::int32_t> workers(power.size());
  const std::size_t first = random.below(power.size());
  const std::int32_t sizes = buyer.max_workers - buyer.min_workers + 1;
  const auto wanted = buyer.min_workers +
                      static_cast<std::int32_t>(random.below(static_cast<std::uint64_t>(sizes)));
  std::int32_t number = 0;
  for (std::size_t k = 0; k < (buyer.mixes_kinds ? power.size() : 1); ++k) {
    const std::size_t kind = (first + k) % power.size();
    if (power[kind] <= 0) continue;
    workers[kind] = std::min(wanted - number, left[kind] / buyer.gpus);
    number += workers[kind];
  }
  if (number < buyer.min_workers) return {};
  for (std::size_t kind = 0; kind < power.size(); ++kind) left[kind] -= workers[kind] * buyer.gpus;
  return workers;
}

/// Of up to 3 kinds and 5 buyers: small enough to try all there is.
inline RandomMarket small_market(std::uint64_t seed, const MarketTraits& traits) {
  Random random(seed);
  const auto draw = [&](std::uint64_t from, std::uint64_t to) {
    return static_cast<std::int32_t>(from + random.below(to - from + 1));
  };
  const auto happens = [&](bool trait, double chance) {
    return trait && random.uniform() < chance;
  };
  std::vector<std::int32_t> gpus(1 + random.below(3));
  std::int32_t all = 0;
  for (std::int32_t& number : gpus) all += number = draw(traits.gpus ? 2 : 1, traits.gpus ? 8 : 5);
  RandomMarket made{Market(gpus, traits.fairness),
                    std::make_unique<std::deque<std::vector<double>>>()};
  std::vector<std::int32_t> left = gpus;
  const std::size_t buyers = 1 + random.below(5);
  for (std::size_t i = 0; i < buyers; ++i) {
    Buyer buyer{.iterations = traits.ties ? draw(1, 3) : random.uniform(100, 1000),
                .unit_s = traits.ties ? 1 : random.uniform(0.5, 2),
                .max_workers = all};
    if (happens(traits.bounds, 0.7)) {
      buyer.min_workers = draw(1, 3);
      buyer.max_workers = buyer.min_workers + draw(0, 3);
    }
    if (happens(traits.gpus, 0.5)) buyer.gpus = draw(2, 4);
    buyer.mixes_kinds = !happens(traits.one_kind, 0.5);
    std::vector<double> power;
    for (std::size_t kind = 0; kind < gpus.size(); ++kind)
      power.push_back(happens(traits.zeros, 0.3) ? 0
                      : traits.ties              ? draw(1, 2)
                                                 : random.uniform(1, 10));
    const double alone_s = buyer.iterations * buyer.unit_s / 5;  // on one worker of middling power
    if (traits.communication) {
      buyer.overlap = random.uniform();
      const double full = buyer.unit_s / 5 * random.uniform();
      std::vector<double>& by_size = made.communication->emplace_back(1, 0);
      for (std::int32_t k = 1; k <= buyer.max_workers; ++k) by_size.push_back(full * (k - 1) / k);
      buyer.communication_s = by_size;
    }
    if (traits.idle) buyer.idle_cost = alone_s * random.uniform(0.5, 5);
    if (traits.fairness > 0) buyer.fair_s = alone_s * random.uniform(0.2, 2);
    std::vector<std::int32_t> has;
    if (happens(traits.changes, 0.7)) has = draw_workers(random, buyer, power, left);
    buyer.change_cost = traits.changes ? alone_s * random.uniform(0, 0.2) : 0;
    buyer.pause_s = traits.changes ? alone_s * random.uniform(0, 0.1) : 0;
    made.market.add(buyer, power, has);
  }
  return made;
}

}  // namespace trainyard
