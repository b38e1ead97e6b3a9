#include "market/sharing.h"

namespace trainyard {

double Sharing::shares(std::span<const std::int32_t> gpus) {
  double product = 1;
  for (const std::int32_t number : gpus) product *= number + 1;
  return product;
}

/// Exactly each share; infinite where the buyer cannot have it.
void Sharing::list_uses(std::size_t buyer, std::span<const std::int32_t> gpus,
                        std::vector<Use>& uses) {
  const std::int32_t each = market_.buyer(buyer).gpus;
  uses.assign(static_cast<std::size_t>(shares(gpus)), {kUnpayable, 0});
  for (std::size_t share = 0; share < uses.size(); ++share) uses[share].share = share;
  std::ranges::fill(workers_, 0);
  std::size_t share = 0;
  while (true) {
    if (market_.can_have(buyer, workers_)) uses[share].cost = market_.cost(buyer, workers_);
    std::size_t kind = 0, place = 1;  // count on
    for (; kind < gpus.size(); ++kind) {
      if ((workers_[kind] + 1) * each <= gpus[kind] && market_.power(buyer)[kind] > 0) break;
      share -= static_cast<std::size_t>(workers_[kind] * each) * place;
      workers_[kind] = 0;
      place *= static_cast<std::size_t>(gpus[kind]) + 1;
    }
    if (kind == gpus.size()) return;
    ++workers_[kind];
    share += static_cast<std::size_t>(each) * place;
  }
}

double Sharing::share(std::size_t one, std::size_t other, std::span<const std::int32_t> gpus) {
  list_uses(one, gpus, one_);
  list_uses(other, gpus, other_);
  // The best of at most each share: as good as with one GPU of some kind less, or better.
  std::size_t place = 1;
  for (const std::int32_t number : gpus) {
    const std::size_t base = static_cast<std::size_t>(number) + 1;
    for (std::size_t share = 0; share < other_.size(); ++share)
      if (share / place % base > 0 && other_[share - place].cost <= other_[share].cost)
        other_[share] = other_[share - place];
    place *= base;
  }
  // What one leaves of all is what is missing in every digit.
  Use best = one_.front(), rest = other_.back();
  for (std::size_t share = 0; share < one_.size(); ++share) {
    const Use& left = other_[one_.size() - 1 - share];
    if (one_[share].cost + left.cost >= best.cost + rest.cost) continue;
    best = one_[share];
    rest = left;
  }
  of_one_ = workers_of(one, best.share, gpus);
  of_other_ = workers_of(other, rest.share, gpus);
  return best.cost + rest.cost;
}

std::vector<std::int32_t> Sharing::workers_of(std::size_t buyer, std::size_t share,
                                              std::span<const std::int32_t> gpus) const {
  std::vector<std::int32_t> workers;
  for (const std::int32_t number : gpus) {
    const std::size_t base = static_cast<std::size_t>(number) + 1;
    workers.push_back(static_cast<std::int32_t>(share % base) / market_.buyer(buyer).gpus);
    share /= base;
  }
  return workers;
}

}  // namespace trainyard
