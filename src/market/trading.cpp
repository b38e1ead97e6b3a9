#include "market/trading.h"

#include <cmath>
#include <utility>

#include "market/tournament.h"

namespace trainyard {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

// So many bids that find no seller are looked at for each kind before it is given up.
constexpr int kTries = 16;
// Gains below this share of the whole cost are rounding.
constexpr double kTiny = 1e-12;

/// So many workers, with what they are worth for each GPU.
struct Block {
  double value = Tournament::kOut;
  std::int32_t workers = 0;
};

/// For all buyers: the block that each would take, give or exchange, and who leads.
struct Book {
  explicit Book(std::size_t buyers) : lead(buyers), workers(buyers) {}

  void set(std::size_t buyer, const Block& block) {
    lead.set(buyer, block.value);
    workers[buyer] = block.workers;
  }

  Tournament lead;
  std::vector<std::int32_t> workers;
};

class Trading {
 public:
  Trading(const Market& market, const Allocation& start)
      : market_(market),
        kinds_(market.kinds()),
        got_(start),
        power_(market.size()),
        workers_(market.size()),
        cost_(market.size()),
        bids_(kinds_, Book(market.size())),
        asks_(kinds_, Book(market.size())),
        exchanges_(kinds_ * kinds_, Book(market.size())) {
    for (std::size_t kind = 0; kind < kinds_; ++kind) left_.push_back(market.gpus(kind));
    double sum = 0;
    for (std::size_t i = 0; i < market.size(); ++i) {
      for (std::size_t kind = 0; kind < kinds_; ++kind)
        left_[kind] -= got_.of(i)[kind] * market.buyer(i).gpus;
      note(i);
      if (cost_[i] < kNever) sum += cost_[i];
    }
    tiny_ = kTiny * sum;
  }

  void run() {
    for (bool traded = true; traded;) {
      traded = false;
      for (std::size_t kind = 0; kind < kinds_; ++kind) traded |= buy_all(kind);
      for (std::size_t from = 0; from < kinds_; ++from)
        for (std::size_t to = 0; to < kinds_; ++to)
          if (from != to)
            while (barter(from, to)) traded = true;
      traded |= revert_all();
    }
  }

  [[nodiscard]] Allocation result() && { return std::move(got_); }

 private:
  Book& exchange(std::size_t from, std::size_t to) { return exchanges_[from * kinds_ + to]; }

  /// What a buyer costs with so many workers more (or fewer) of a power that differs by so much;
  /// never what it had before.
  [[nodiscard]] double cost_with(std::size_t i, double power, std::int32_t workers) const {
    const double changed = market_.has_some(i) ? market_.buyer(i).change_cost : 0;
    return cost_of(market_.buyer(i), market_.fairness(), power_[i] + power, workers_[i] + workers) +
           changed;
  }

  void change(std::size_t i, std::size_t kind, std::int32_t workers) {
    got_.of(i)[kind] += workers;
    left_[kind] -= workers * market_.buyer(i).gpus;
  }
  /// After its workers have changed.
  void note(std::size_t i) {
    power_[i] = market_.power(i, got_.of(i));
    workers_[i] = got_.workers(i);
    cost_[i] = market_.cost(i, got_.of(i));
    for (std::size_t kind = 0; kind < kinds_; ++kind) {
      bids_[kind].set(i, bid(i, kind));
      asks_[kind].set(i, ask(i, kind));
      for (std::size_t to = 0; to < kinds_; ++to)
        if (to != kind) exchange(kind, to).set(i, offer(i, kind, to));
    }
  }

  /// The block of the largest value, of those that begin with `first` and double up to `most`.
  template <class Gain>
  Block best_block(std::size_t i, std::int32_t first, std::int32_t most, Gain gain) const {
    Block best;
    for (std::int32_t m = first; m <= most; m = m == most ? most + 1 : std::min(2 * m, most)) {
      const double value = gain(m) / (m * market_.buyer(i).gpus);
      if (value > best.value) best = {value, m};
    }
    return best;
  }

  [[nodiscard]] Block bid(std::size_t i, std::size_t kind) const {
    const Buyer& buyer = market_.buyer(i);
    const double power = market_.power(i)[kind];
    if (power <= 0) return {};
    if (!buyer.mixes_kinds && workers_[i] > got_.of(i)[kind]) return {};
    const std::int32_t most = std::min(buyer.max_workers - workers_[i],
                                       market_.gpus(kind) / buyer.gpus - got_.of(i)[kind]);
    const std::int32_t first = workers_[i] == 0 ? buyer.min_workers : 1;
    // A buyer that has nothing and must have something comes first, whatever it gains.
    const double now = std::min(cost_[i], std::numeric_limits<double>::max() / 4);
    return best_block(i, first, most,
                      [&](std::int32_t m) { return now - cost_with(i, m * power, m); });
  }

  [[nodiscard]] Block ask(std::size_t i, std::size_t kind) const {
    const Buyer& buyer = market_.buyer(i);
    const std::int32_t here = got_.of(i)[kind];
    if (here == 0) return {};
    const double power = market_.power(i)[kind];
    const std::int32_t most = std::min(workers_[i] - buyer.min_workers, here);
    Block best = best_block(
        i, 1, most, [&](std::int32_t m) { return cost_[i] - cost_with(i, -m * power, -m); });
    if (here < workers_[i] || buyer.idle_cost == kNever) return best;
    const double leaves = (cost_[i] - cost_with(i, -power_[i], -here)) / (here * buyer.gpus);
    return leaves > best.value ? Block{leaves, here} : best;
  }

  [[nodiscard]] Block offer(std::size_t i, std::size_t from, std::size_t to) const {
    const std::int32_t here = got_.of(i)[from];
    if (here == 0 || market_.power(i)[to] <= 0) return {};
    const double power = market_.power(i)[to] - market_.power(i)[from];
    const std::int32_t first = market_.buyer(i).mixes_kinds ? 1 : here;
    if (!market_.buyer(i).mixes_kinds && here < workers_[i]) return {};
    return best_block(i, first, here,
                      [&](std::int32_t m) { return cost_[i] - cost_with(i, m * power, 0); });
  }

  bool buy_all(std::size_t kind) {
    bool traded = false;
    std::vector<std::size_t> failed;
    while (static_cast<int>(failed.size()) < kTries && bids_[kind].lead.best() > 0) {
      const std::size_t buyer = bids_[kind].lead.winner();
      if (buy(buyer, kind)) {
        traded = true;
        continue;
      }
      bids_[kind].lead.set(buyer, Tournament::kOut);
      failed.push_back(buyer);
    }
    for (const std::size_t i : failed) bids_[kind].set(i, bid(i, kind));
    return traded;
  }

  /// Its whole bid: from what is on offer, then from those that ask the least.
  bool buy(std::size_t buyer, std::size_t kind) {
    const std::int32_t workers = bids_[kind].workers[buyer];
    const std::int32_t wanted = workers * market_.buyer(buyer).gpus;
    double gain = bids_[kind].lead.value(buyer) * wanted;
    std::int32_t on_offer = left_[kind];
    Book& asks = asks_[kind];
    asks.lead.set(buyer, Tournament::kOut);
    sellers_.clear();
    while (on_offer < wanted && gain > tiny_ && asks.lead.best() > -kNever) {
      const std::size_t seller = asks.lead.winner();
      const std::int32_t gpus = asks.workers[seller] * market_.buyer(seller).gpus;
      gain += asks.lead.best() * gpus;
      on_offer += gpus;
      asks.lead.set(seller, Tournament::kOut);
      sellers_.push_back(seller);
    }
    const bool pays = on_offer >= wanted && gain > tiny_;
    if (pays) {
      for (const std::size_t seller : sellers_) change(seller, kind, -asks.workers[seller]);
      change(buyer, kind, workers);
      for (const std::size_t seller : sellers_) note(seller);
      note(buyer);
    } else {
      for (const std::size_t seller : sellers_) asks.set(seller, ask(seller, kind));
      asks.set(buyer, ask(buyer, kind));
    }
    return pays;
  }

  /// The one that gains most by it changes workers of one kind into another.
  bool barter(std::size_t from, std::size_t to) {
    Book& offers = exchange(from, to);
    if (offers.lead.best() <= 0) return false;
    const std::size_t i = offers.lead.winner();
    const std::int32_t workers = offers.workers[i], gpus = workers * market_.buyer(i).gpus;
    if (gpus <= left_[to] && offers.lead.best() * gpus > tiny_) {
      move(i, from, to, workers);
      note(i);
      return true;
    }
    Book& others = exchange(to, from);
    const std::size_t j = others.lead.winner();
    if (i == j || others.lead.best() + offers.lead.best() <= 0) return false;
    return swap(i, j, from, to, gpus) ||
           swap(i, j, from, to, others.workers[j] * market_.buyer(j).gpus);
  }

  /// So many GPUs of one kind from i to j, and of the other from j to i, if that gains anything.
  bool swap(std::size_t i, std::size_t j, std::size_t from, std::size_t to, std::int32_t gpus) {
    const std::int32_t i_workers = gpus / market_.buyer(i).gpus;
    const std::int32_t j_workers = gpus / market_.buyer(j).gpus;
    if (i_workers * market_.buyer(i).gpus != gpus || j_workers * market_.buyer(j).gpus != gpus ||
        i_workers > got_.of(i)[from] || j_workers > got_.of(j)[to])
      return false;
    const bool i_splits = !market_.buyer(i).mixes_kinds && i_workers < workers_[i];
    const bool j_splits = !market_.buyer(j).mixes_kinds && j_workers < workers_[j];
    if (i_splits || j_splits) return false;
    const double before = cost_[i] + cost_[j];
    move(i, from, to, i_workers);
    move(j, to, from, j_workers);
    const double after = market_.cost(i, got_.of(i)) + market_.cost(j, got_.of(j));
    const bool pays = after < before - tiny_;
    if (!pays) {
      move(i, to, from, i_workers);
      move(j, from, to, j_workers);
      return false;
    }
    note(i);
    note(j);
    return true;
  }

  void move(std::size_t i, std::size_t from, std::size_t to, std::int32_t workers) {
    change(i, from, -workers);
    change(i, to, workers);
  }

  bool revert_all() {
    bool traded = false;
    for (std::size_t i = 0; i < market_.size(); ++i) {
      if (!market_.has_some(i) || market_.buyer(i).change_cost <= 0) continue;
      const auto had = market_.has().of(i);
      if (std::ranges::equal(had, got_.of(i)) || !is_on_offer(i, had)) continue;
      if (market_.cost(i, had) >= cost_[i] - tiny_) continue;
      for (std::size_t kind = 0; kind < kinds_; ++kind)
        change(i, kind, had[kind] - got_.of(i)[kind]);
      note(i);
      traded = true;
    }
    return traded;
  }

  [[nodiscard]] bool is_on_offer(std::size_t i, std::span<const std::int32_t> workers) const {
    for (std::size_t kind = 0; kind < kinds_; ++kind)
      if ((workers[kind] - got_.of(i)[kind]) * market_.buyer(i).gpus > left_[kind]) return false;
    return true;
  }

  const Market& market_;
  std::size_t kinds_;
  double tiny_ = 0;
  Allocation got_;
  std::vector<std::int32_t> left_;  // GPUs, by kind
  // Of each buyer:
  std::vector<double> power_;
  std::vector<std::int32_t> workers_;
  std::vector<double> cost_;
  // By kind, or by kind given and kind taken:
  std::vector<Book> bids_, asks_, exchanges_;
  std::vector<std::size_t> sellers_;
};

}  // namespace

Allocation trade(const Market& market, const Allocation& start) {
  Trading trading(market, start);
  trading.run();
  return std::move(trading).result();
}

}  // namespace trainyard
