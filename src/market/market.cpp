#include "market/market.h"

#include <fmt/format.h>

#include <numeric>

namespace trainyard {

double equal_split_s(const Buyer& buyer, std::span<const double> power,
                     std::span<const std::int32_t> gpus, std::size_t buyers) {
  double all = 0, sum = 0;
  for (std::size_t kind = 0; kind < gpus.size(); ++kind) {
    all += gpus[kind];
    sum += power[kind] * gpus[kind];
  }
  if (sum <= 0) return 0;
  const auto part =
      static_cast<std::int32_t>(all / static_cast<double>(buyers)) / std::max(buyer.gpus, 1);
  const std::int32_t workers = std::clamp(part, buyer.min_workers, buyer.max_workers);
  return completion_s(buyer, workers * (sum / all), workers);
}

void Market::add(const Buyer& buyer, std::span<const double> power,
                 std::span<const std::int32_t> has) {
  buyers_.push_back(buyer);
  powers_.insert(powers_.end(), power.begin(), power.end());
  has_.add(has);
  has_some_.push_back(std::ranges::any_of(has, [](std::int32_t number) { return number > 0; }));
}

double Market::power(std::size_t buyer, std::span<const std::int32_t> workers) const {
  double sum = 0;
  for (std::size_t kind = 0; kind < kinds(); ++kind) sum += power(buyer)[kind] * workers[kind];
  return sum;
}

double Market::cost(std::size_t buyer, std::span<const std::int32_t> workers) const {
  const std::int32_t number = std::accumulate(workers.begin(), workers.end(), 0);
  const bool changes = has_some_[buyer] && !std::ranges::equal(workers, has_.of(buyer));
  return cost_of(buyers_[buyer], fairness_, power(buyer, workers), number, changes);
}

double Market::cost(const Allocation& allocation) const {
  double sum = 0;
  for (std::size_t i = 0; i < size(); ++i) sum += cost(i, allocation.of(i));
  return sum;
}

bool Market::can_have(std::size_t buyer, std::span<const std::int32_t> workers) const {
  std::int32_t number = 0, kinds_used = 0;
  for (std::size_t kind = 0; kind < kinds(); ++kind) {
    if (workers[kind] > 0 && power(buyer)[kind] <= 0) return false;
    number += workers[kind];
    kinds_used += workers[kind] > 0 ? 1 : 0;
  }
  if (number == 0) return true;
  const Buyer& wants = buyers_[buyer];
  return number >= wants.min_workers && number <= wants.max_workers &&
         (kinds_used == 1 || wants.mixes_kinds);
}

std::string Market::fault_of(const Allocation& allocation) const {
  std::vector<std::int64_t> left(gpus_.begin(), gpus_.end());
  for (std::size_t i = 0; i < size(); ++i) {
    const auto workers = allocation.of(i);
    const std::int32_t number = allocation.workers(i);
    const auto kinds_used = std::ranges::count_if(workers, [](auto n) { return n > 0; });
    if (number != 0 && (number < buyers_[i].min_workers || number > buyers_[i].max_workers))
      return fmt::format("buyer {} has {} workers", i, number);
    if (kinds_used > 1 && !buyers_[i].mixes_kinds)
      return fmt::format("buyer {} has workers of {} kinds", i, kinds_used);
    for (std::size_t kind = 0; kind < kinds(); ++kind) {
      if (workers[kind] < 0 || (workers[kind] > 0 && power(i)[kind] <= 0))
        return fmt::format("buyer {} has {} workers of kind {}", i, workers[kind], kind);
      left[kind] -= std::int64_t{workers[kind]} * buyers_[i].gpus;
    }
  }
  for (std::size_t kind = 0; kind < kinds(); ++kind)
    if (left[kind] < 0) return fmt::format("{} GPUs of kind {} are missing", -left[kind], kind);
  return {};
}

}  // namespace trainyard
