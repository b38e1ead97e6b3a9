#include "bound/cheapest_run.h"

#include <algorithm>

namespace trainyard {

std::size_t Prices::cell_at(double s) const {
  const auto after = std::upper_bound(from_s.begin(), from_s.end(), s);
  return static_cast<std::size_t>(after - from_s.begin()) - 1;
}

CheapestRun RunPlanner::plan(const Gang& gang) {
  run_at_once(gang);
  while (!dear_.empty() && end_s_ < best_.cost_s) {
    ++effort_;
    double left_s = prices_.end_s(cell_) - end_s_;
    const double price = prices_.at(cell_);
    while (left_s > 0 && !dear_.empty() && dear_.front().price > price) {
      const double s = std::min(left_s, dear_.front().s);
      replace_dearest(price, s, gang.gpus);
      left_s -= s;
    }
    if (dear_.empty()) break;
    cost_s_ += left_s;
    end_s_ = prices_.end_s(cell_++);
  }
  return best_;
}

void RunPlanner::run_at_once(const Gang& gang) {
  dear_.clear();
  cell_ = prices_.cell_at(gang.ready_s);
  end_s_ = gang.ready_s;
  double left_s = gang.length_s, paid = 0;
  while (true) {
    ++effort_;
    const double s = std::min(left_s, prices_.end_s(cell_) - end_s_);
    const double price = prices_.at(cell_);
    paid += price * s;
    if (price * gang.gpus > 1) dear_.push_back({price, s});
    left_s -= s;
    if (left_s <= 0) {
      end_s_ += s;
      break;
    }
    end_s_ = prices_.end_s(cell_++);
  }
  std::make_heap(dear_.begin(), dear_.end());
  cost_s_ = gang.ready_s + gang.length_s + gang.gpus * paid;
  best_.cost_s = std::numeric_limits<double>::infinity();
  note_cost(gang.gpus);
}

/// Some of the dearest seconds by as many at the end of the run.
void RunPlanner::replace_dearest(double price, double s, double gpus) {
  ++effort_;
  Seconds& dearest = dear_.front();
  cost_s_ += s * (1 - gpus * (dearest.price - price));
  end_s_ += s;
  dearest.s -= s;
  if (dearest.s <= 0) {
    std::pop_heap(dear_.begin(), dear_.end());
    dear_.pop_back();
  }
  if (price * gpus > 1) {
    dear_.push_back({price, s});
    std::push_heap(dear_.begin(), dear_.end());
  }
  if (cost_s_ < best_.cost_s) note_cost(gpus);
}

void RunPlanner::note_cost(double gpus) {
  best_ = {cost_s_, end_s_, dear_.empty() ? 1 / gpus : dear_.front().price};
}

void RunPlanner::add_use(const Gang& gang, const CheapestRun& run,
                         std::vector<double>& gpu_s) const {
  const std::size_t first = prices_.cell_at(gang.ready_s);
  double left_s = gang.length_s;
  const auto use = [&](std::size_t cell) {
    const double s =
        std::min(prices_.end_s(cell), run.end_s) - std::max(prices_.from_s[cell], gang.ready_s);
    const double used_s = std::min(s, left_s);
    gpu_s[cell] += gang.gpus * used_s;
    left_s -= used_s;
  };
  const auto for_cells = [&](auto wanted) {
    for (std::size_t cell = first; cell < prices_.cells() && prices_.from_s[cell] < run.end_s;
         ++cell)
      if (wanted(prices_.price[cell])) use(cell);
  };
  for_cells([&](double price) { return price < run.dearest; });
  for_cells([&](double price) { return price == run.dearest && left_s > 0; });
}

}  // namespace trainyard
