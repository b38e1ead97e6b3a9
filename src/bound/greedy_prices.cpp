#include "bound/greedy_prices.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <set>
#include <utility>
#include <vector>

namespace trainyard {
namespace {

class GreedyFluid {
 public:
  GreedyFluid(std::span<const Gang> gangs, double gpus)
      : gangs_(gangs), gpus_(gpus), by_ready_(gangs.size()) {
    std::iota(by_ready_.begin(), by_ready_.end(), 0U);
    std::ranges::stable_sort(by_ready_, {}, [&](std::size_t j) { return gangs[j].ready_s; });
    for (const Gang& gang : gangs) left_.push_back(work(gang));
  }

  /// Goes on by a cell. Returns the job that got the last of the GPU time, if all was used.
  std::optional<std::size_t> pass(double from_s, double end_s) {
    for (; next_ < gangs_.size() && gangs_[by_ready_[next_]].ready_s < end_s; ++next_)
      if (const std::size_t j = by_ready_[next_]; left_[j] > 0) waiting_.insert({left_[j], j});
    double free = gpus_ * (end_s - from_s);
    for (auto least = waiting_.begin(); least != waiting_.end();) {
      const std::size_t j = least->second;
      const double most = gangs_[j].gpus * (end_s - std::max(from_s, gangs_[j].ready_s));
      const double used = std::min({left_[j], most, free});
      left_[j] -= used;
      free -= used;
      least = left_[j] <= 0 ? waiting_.erase(least) : std::next(least);
      if (free <= 0) return j;
    }
    return {};
  }

  static double work(const Gang& gang) { return gang.gpus * gang.length_s; }

 private:
  std::span<const Gang> gangs_;
  double gpus_;
  std::vector<std::size_t> by_ready_;
  std::size_t next_ = 0;                              // in by_ready_
  std::vector<double> left_;                          // of each job, in GPU-seconds
  std::set<std::pair<double, std::size_t>> waiting_;  // by all of its work
};

}  // namespace

void set_greedy_prices(std::span<const Gang> gangs, double gpus, Prices& prices) {
  GreedyFluid fluid(gangs, gpus);
  std::vector<std::optional<std::size_t>> last(prices.cells());
  for (std::size_t i = 0; i < prices.cells(); ++i)
    last[i] = fluid.pass(prices.from_s[i], prices.from_s[i + 1]);
  std::vector<std::optional<double>> line(gangs.size());  // t / w + p(t)
  double after = 0;                                       // the price at the end of the cell
  for (std::size_t i = prices.cells(); i-- > 0;) {
    double begin = 0, middle = 0;
    if (last[i]) {
      const double work = GreedyFluid::work(gangs[*last[i]]);
      const double from_s = prices.from_s[i], end_s = prices.from_s[i + 1];
      std::optional<double>& own = line[*last[i]];
      if (!own) own = end_s / work + after;
      begin = *own - from_s / work;
      middle = *own - (from_s + end_s) / 2 / work;
    }
    after = std::max(begin, 0.0);
    prices.price[i] = std::max(middle, 0.0);
  }
}

}  // namespace trainyard
