// A market with price increments: what our matching is measured by. Whoever has no worker bids for
// the one that is worth most over its price, and raises that to where the next best would do as
// well, and a little more; who is outbid bids again. With that little for each worker it ends that
// far from the best (D. Bertsekas, "The auction algorithm", 1988). Workers of a kind differ in
// price only, so a kind is a heap of prices.
#include <queue>

#include "bench.h"
#include "market.h"

namespace trainyard::bench {
namespace {

class Auction {
 public:
  Auction(const CategoryMatching& matching, double step)
      : matching_(matching), step_(step), workers_(matching.capacity.size()) {
    for (std::size_t kind = 0; kind < workers_.size(); ++kind)
      for (std::int32_t n = 0; n < matching.capacity[kind]; ++n) workers_[kind].push({});
    for (std::size_t buyer = 0; buyer < matching.sizes.size(); ++buyer)
      waiting_.insert(waiting_.end(), static_cast<std::size_t>(matching.sizes[buyer]), buyer);
  }

  double run() {
    while (!waiting_.empty()) {
      const std::size_t buyer = waiting_.back();
      waiting_.pop_back();
      bid(buyer);
    }
    double worth = 0;
    for (std::size_t kind = 0; kind < workers_.size(); ++kind)
      for (; !workers_[kind].empty(); workers_[kind].pop())
        if (workers_[kind].top().owner != kNobody) worth += of(workers_[kind].top().owner, kind);
    return worth;
  }

 private:
  static constexpr std::size_t kNobody = std::numeric_limits<std::size_t>::max();

  struct Worker {
    double price = 0;
    std::size_t owner = kNobody;

    bool operator>(const Worker& other) const { return price > other.price; }
  };
  using Heap = std::priority_queue<Worker, std::vector<Worker>, std::greater<>>;

  [[nodiscard]] double of(std::size_t buyer, std::size_t kind) const {
    return matching_.worth[buyer * workers_.size() + kind];
  }
  [[nodiscard]] double profit(std::size_t buyer, std::size_t kind) const {
    const bool can = !workers_[kind].empty() && of(buyer, kind) >= 0;
    return can ? of(buyer, kind) - workers_[kind].top().price
               : -std::numeric_limits<double>::infinity();
  }

  void bid(std::size_t buyer) {
    std::size_t best = 0;
    for (std::size_t kind = 1; kind < workers_.size(); ++kind)
      if (profit(buyer, kind) > profit(buyer, best)) best = kind;
    const Worker worker = workers_[best].top();
    workers_[best].pop();
    double next = -std::numeric_limits<double>::infinity();
    for (std::size_t kind = 0; kind < workers_.size(); ++kind)
      next = std::max(next, profit(buyer, kind));
    if (worker.owner != kNobody) waiting_.push_back(worker.owner);
    workers_[best].push({of(buyer, best) - next + step_, buyer});
  }

  const CategoryMatching& matching_;
  double step_;
  std::vector<Heap> workers_;
  std::vector<std::size_t> waiting_;
};

}  // namespace

Solved match_by_auction(const CategoryMatching& matching, double gap) {
  Solved solved;
  solved.s = seconds(
      [&] { solved.worth = Auction(matching, gap * std::ranges::max(matching.worth)).run(); });
  return solved;
}

}  // namespace trainyard::bench
