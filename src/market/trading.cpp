#include "market/trading.h"

#include <cmath>
#include <utility>

#include "market/sharing.h"
#include "market/tournament.h"

namespace trainyard {
namespace {

// So many bids that find no seller are looked at for each kind before it is given up, and so many
// partners of a barter.
constexpr int kTries = 16;
constexpr int kPartners = 4;
// Gains below this share of what the traders cost are rounding.
constexpr double kTiny = 1e-12;
// Two buyers share what they have if there are no more than so many ways; in larger markets, where
// there are far more pairs and each has less weight, it gains nothing that can be seen.
constexpr double kShares = 4096;
constexpr std::size_t kSharers = 32;

/// So many workers, with what they are worth for each GPU.
struct Block {
  double value = Tournament::kOut;
  std::int32_t workers = 0;
  bool is_whole = false;  // a bid: for these and nothing else; an ask: the seller keeps nothing
};

/// For all buyers: the block that each would take, give or exchange, and who leads.
struct Book {
  explicit Book(std::size_t buyers) : lead(buyers), blocks(buyers) {}

  void set(std::size_t buyer, const Block& block) {
    lead.set(buyer, block.value);
    blocks[buyer] = block;
  }
  /// The same of all buyers at once, before the first lead is asked for.
  template <class BlockOf>
  void fill(BlockOf block_of) {
    lead.fill(blocks.size(), [&](std::size_t buyer) {
      blocks[buyer] = block_of(buyer);
      return blocks[buyer].value;
    });
  }

  Tournament lead;
  std::vector<Block> blocks;
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
        exchanges_(kinds_ * kinds_, Book(market.size())),
        target_(kinds_),
        sharing_(market) {
    for (std::size_t kind = 0; kind < kinds_; ++kind) left_.push_back(market.gpus(kind));
    for (std::size_t i = 0; i < market.size(); ++i) {
      for (std::size_t kind = 0; kind < kinds_; ++kind)
        left_[kind] -= got_.of(i)[kind] * market.buyer(i).gpus;
      note_cost(i);
    }
    for (std::size_t kind = 0; kind < kinds_; ++kind) {
      bids_[kind].fill([&](std::size_t i) { return bid(i, kind); });
      asks_[kind].fill([&](std::size_t i) { return ask(i, kind); });
      for (std::size_t to = 0; to < kinds_; ++to)
        if (to != kind) exchange(kind, to).fill([&](std::size_t i) { return offer(i, kind, to); });
    }
  }

  void run(bool shares) {
    for (bool traded = true; traded;) {
      traded = false;
      for (std::size_t kind = 0; kind < kinds_; ++kind) {
        traded |= give_back_all(kind);
        traded |= buy_all(kind);
      }
      for (std::size_t from = 0; from < kinds_; ++from)
        for (std::size_t to = 0; to < kinds_; ++to)
          if (from != to)
            while (barter(from, to)) traded = true;
      traded |= revert_all();
      if (!traded) traded = enter_all();
      if (!traded && shares) traded = share_all();
    }
  }

  [[nodiscard]] Allocation result() && { return std::move(got_); }

 private:
  Book& exchange(std::size_t from, std::size_t to) { return exchanges_[from * kinds_ + to]; }

  /// What a buyer costs with so many workers more (or fewer) of a power that differs by so much;
  /// never what it had before.
  [[nodiscard]] double cost_with(std::size_t i, double power, std::int32_t workers) const {
    return cost_of(market_.buyer(i), market_.fairness(), power_[i] + power, workers_[i] + workers,
                   market_.has_some(i));
  }

  /// A buyer that has nothing and must have something comes first, whatever it gains.
  [[nodiscard]] double now(std::size_t i) const {
    return std::min(cost_[i], std::numeric_limits<double>::max() / 4);
  }

  void change(std::size_t i, std::size_t kind, std::int32_t workers) {
    got_.of(i)[kind] += workers;
    left_[kind] -= workers * market_.buyer(i).gpus;
  }
  /// After its workers have changed.
  void note(std::size_t i) {
    note_cost(i);
    for (std::size_t kind = 0; kind < kinds_; ++kind) {
      bids_[kind].set(i, bid(i, kind));
      asks_[kind].set(i, ask(i, kind));
      for (std::size_t to = 0; to < kinds_; ++to)
        if (to != kind) exchange(kind, to).set(i, offer(i, kind, to));
    }
  }
  void note_cost(std::size_t i) {
    power_[i] = market_.power(i, got_.of(i));
    workers_[i] = got_.workers(i);
    cost_[i] = market_.cost(i, got_.of(i));
  }

  /// The block of the largest value, of those that begin with `first` and double up to `most`. What
  /// a worker gains falls with their number, so the value rises until the pause is spread wide
  /// enough, then falls.
  template <class Gain>
  Block best_block(std::size_t i, std::int32_t first, std::int32_t most, Gain gain) const {
    Block best;
    for (std::int32_t m = first; m <= most; m = m == most ? most + 1 : std::min(2 * m, most)) {
      const double value = gain(m) / (m * market_.buyer(i).gpus);
      if (value < best.value) break;
      best = {value, m};
    }
    return best;
  }

  [[nodiscard]] Block bid(std::size_t i, std::size_t kind) const {
    const Buyer& buyer = market_.buyer(i);
    const double power = market_.power(i)[kind];
    if (power <= 0) return {};
    // One that does not mix kinds and has another leaves that.
    const bool leaves = !buyer.mixes_kinds && workers_[i] > got_.of(i)[kind];
    const std::int32_t kept = leaves ? 0 : workers_[i];
    const std::int32_t most =
        std::min(buyer.max_workers - kept, market_.gpus(kind) / buyer.gpus - got_.of(i)[kind]);
    const std::int32_t first = std::max(buyer.min_workers - kept, 1);
    const double power_left = leaves ? power_[i] : 0;
    const std::int32_t workers_left = leaves ? workers_[i] : 0;
    Block best = best_block(i, first, most, [&](std::int32_t m) {
      return now(i) - cost_with(i, m * power - power_left, m - workers_left);
    });
    best.is_whole = leaves;
    return best;
  }

  [[nodiscard]] Block ask(std::size_t i, std::size_t kind) const {
    const Buyer& buyer = market_.buyer(i);
    const std::int32_t here = got_.of(i)[kind];
    if (here == 0) return {};
    const double power = market_.power(i)[kind];
    const std::int32_t most = std::min(workers_[i] - buyer.min_workers, here);
    Block best = best_block(
        i, 1, most, [&](std::int32_t m) { return cost_[i] - cost_with(i, -m * power, -m); });
    if (buyer.idle_cost == kUnpayable) return best;
    const double nothing = (cost_[i] - cost_with(i, 0, -workers_[i])) / (here * buyer.gpus);
    return nothing > best.value ? Block{nothing, here, true} : best;
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

  bool buy(std::size_t buyer, std::size_t kind) {
    const Block& block = bids_[kind].blocks[buyer];
    if (block.is_whole)
      std::ranges::fill(target_, 0);
    else
      std::ranges::copy(got_.of(buyer), target_.begin());
    target_[kind] += block.workers;
    return get_target(buyer);
  }

  /// The buyer gets just that: from what is on offer, then from those that ask the least.
  bool get_target(std::size_t buyer) {
    double gain = now(buyer) - market_.cost(buyer, target_), tiny = kTiny * now(buyer);
    bool found = true;
    sellers_.clear();
    withdraw(buyer);
    for (std::size_t kind = 0; kind < kinds_ && found; ++kind) {
      std::int32_t missing =
          (target_[kind] - got_.of(buyer)[kind]) * market_.buyer(buyer).gpus - left_[kind];
      const Book& asks = asks_[kind];
      for (; missing > 0 && gain > tiny && asks.lead.best() > -kUnpayable;) {
        const std::size_t seller = asks.lead.winner();
        const std::int32_t gpus = asks.blocks[seller].workers * market_.buyer(seller).gpus;
        gain += asks.lead.best() * gpus;
        tiny += kTiny * cost_[seller];
        missing -= gpus;
        withdraw(seller);
        sellers_.emplace_back(seller, kind);
      }
      found = missing <= 0;
    }
    const bool pays = found && gain > tiny;
    if (pays) {
      for (const auto& [seller, kind] : sellers_) sell(seller, kind);
      replace(buyer, target_);
    }
    for (const auto& [seller, kind] : sellers_) pays ? note(seller) : bring_back(seller);
    pays ? note(buyer) : bring_back(buyer);
    return pays;
  }

  /// Those that have nothing, and for which no single kind has room, begin with their least.
  bool enter_all() {
    bool traded = false;
    for (std::size_t i = 0; i < market_.size(); ++i) {
      if (workers_[i] > 0 || !market_.buyer(i).mixes_kinds) continue;
      traded |= spread_least(i) && get_target(i);
    }
    return traded;
  }

  /// What is on offer first, then what others may sell, of the kinds where it is fastest. False:
  /// there are too few.
  bool spread_least(std::size_t i) {
    const Buyer& buyer = market_.buyer(i);
    std::vector<std::size_t> fastest;
    for (std::size_t kind = 0; kind < kinds_; ++kind)
      if (market_.power(i)[kind] > 0) fastest.push_back(kind);
    std::ranges::stable_sort(fastest, std::greater<>{},
                             [&](std::size_t kind) { return market_.power(i)[kind]; });
    std::ranges::fill(target_, 0);
    std::int32_t missing = buyer.min_workers;
    const auto take = [&](std::size_t kind, std::int32_t gpus) {
      const std::int32_t workers = std::min(missing, gpus / buyer.gpus - target_[kind]);
      target_[kind] += workers;
      missing -= workers;
    };
    for (const std::size_t kind : fastest) take(kind, left_[kind]);
    for (const std::size_t kind : fastest) take(kind, market_.gpus(kind));
    return missing == 0;
  }

  void withdraw(std::size_t seller) {
    for (Book& asks : asks_) asks.lead.set(seller, Tournament::kOut);
  }
  void bring_back(std::size_t seller) {
    for (Book& asks : asks_) asks.lead.set(seller, asks.blocks[seller].value);
  }

  /// What it asks for, to whoever takes it.
  void sell(std::size_t seller, std::size_t kind) {
    const Block& block = asks_[kind].blocks[seller];
    if (!block.is_whole) return change(seller, kind, -block.workers);
    for (std::size_t each = 0; each < kinds_; ++each) change(seller, each, -got_.of(seller)[each]);
  }

  void replace(std::size_t i, std::span<const std::int32_t> workers) {
    for (std::size_t kind = 0; kind < kinds_; ++kind)
      change(i, kind, workers[kind] - got_.of(i)[kind]);
  }

  /// More workers are not always faster.
  bool give_back_all(std::size_t kind) {
    bool traded = false;
    for (const Book& asks = asks_[kind]; asks.lead.best() > 0;) {
      const std::size_t i = asks.lead.winner();
      if (asks.lead.best() * asks.blocks[i].workers * market_.buyer(i).gpus <= kTiny * cost_[i])
        break;
      sell(i, kind);
      note(i);
      traded = true;
    }
    return traded;
  }

  /// The one that gains most by it changes workers of one kind into another.
  bool barter(std::size_t from, std::size_t to) {
    const Book& offers = exchange(from, to);
    if (offers.lead.best() <= 0) return false;
    const std::size_t i = offers.lead.winner();
    const std::int32_t workers = offers.blocks[i].workers, gpus = workers * market_.buyer(i).gpus;
    if (gpus <= left_[to] && offers.lead.best() * gpus > kTiny * cost_[i]) {
      move(i, from, to, workers);
      note(i);
      return true;
    }
    Book& others = exchange(to, from);
    std::vector<std::size_t> failed;
    bool traded = false;
    while (!traded && static_cast<int>(failed.size()) < kPartners &&
           others.lead.best() + offers.lead.best() > 0) {
      const std::size_t j = others.lead.winner();
      traded = i != j && (swap(i, j, from, to, gpus) ||
                          swap(i, j, from, to, others.blocks[j].workers * market_.buyer(j).gpus));
      if (traded) break;
      others.lead.set(j, Tournament::kOut);
      failed.push_back(j);
    }
    for (const std::size_t j : failed) others.lead.set(j, others.blocks[j].value);
    return traded;
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
    const bool pays = after < before * (1 - kTiny);
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
      if (!market_.has_some(i)) continue;
      const auto had = market_.has().of(i);
      if (std::ranges::equal(had, got_.of(i)) || market_.cost(i, had) >= cost_[i]) continue;
      std::ranges::copy(had, target_.begin());
      traded |= get_target(i);
    }
    return traded;
  }

  /// Every pair once.
  bool share_all() {
    bool traded = false;
    const std::size_t n = market_.size();
    for (std::size_t distance = 1; distance < n && n <= kSharers; ++distance)
      for (std::size_t i = 0; i + distance < n; ++i) traded |= share(i, i + distance);
    return traded;
  }

  bool share(std::size_t i, std::size_t j) {
    for (std::size_t kind = 0; kind < kinds_; ++kind)
      target_[kind] = left_[kind] + got_.of(i)[kind] * market_.buyer(i).gpus +
                      got_.of(j)[kind] * market_.buyer(j).gpus;
    if (Sharing::shares(target_) > kShares) return false;
    const double before = cost_[i] + cost_[j];
    if (sharing_.share(i, j, target_) >= before * (1 - kTiny)) return false;
    replace(i, sharing_.of_one());
    replace(j, sharing_.of_other());
    note(i);
    note(j);
    return true;
  }

  const Market& market_;
  std::size_t kinds_;
  Allocation got_;
  std::vector<std::int32_t> left_;  // GPUs, by kind
  // Of each buyer:
  std::vector<double> power_;
  std::vector<std::int32_t> workers_;
  std::vector<double> cost_;
  // By kind, or by kind given and kind taken:
  std::vector<Book> bids_, asks_, exchanges_;
  std::vector<std::pair<std::size_t, std::size_t>> sellers_;  // and the kind
  std::vector<std::int32_t> target_;
  Sharing sharing_;
};

}  // namespace

Allocation trade(const Market& market, const Allocation& start, bool shares) {
  Trading trading(market, start);
  trading.run(shares);
  return std::move(trading).result();
}

}  // namespace trainyard
