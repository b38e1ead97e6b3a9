#include "market/matching.h"

#include <cmath>
#include <queue>

namespace trainyard {
namespace {

constexpr std::size_t kNobody = std::numeric_limits<std::size_t>::max();

// Worths are rounded to whole multiples of this part of the largest, a power of two, so that sums
// of hundreds of them are exact: rounding within the sums would make cycles of chains.
constexpr int kGridBits = 44;

std::vector<double> on_grid(std::span<const double> worth) {
  double most = std::numeric_limits<double>::min();
  for (const double each : worth) most = std::max(most, each);
  const int shift = kGridBits - std::ilogb(most);
  std::vector<double> rounded;
  for (const double each : worth)
    rounded.push_back(each < 0 ? -1 : std::nearbyint(std::ldexp(each, shift)));
  return rounded;
}

class Matcher {
 public:
  Matcher(std::span<const std::int32_t> capacity, std::span<const double> worth, std::size_t buyers)
      : kinds_(capacity.size()),
        asked_(worth),
        worth_(on_grid(worth)),
        left_(capacity.begin(), capacity.end()),
        moves_(kinds_ * kinds_),
        found_{Allocation(kinds_, buyers)} {}

  /// False: there is no room for so many.
  bool insert(std::size_t buyer, std::int32_t size) {
    while (size > 0) {
      find_chains();
      const std::size_t first = best_kind(buyer);
      if (first == kNone) return false;
      size -= take(buyer, first, size);
    }
    return true;
  }

  [[nodiscard]] Matching result() {
    for (std::size_t buyer = 0; buyer * kinds_ < asked_.size(); ++buyer)
      for (std::size_t kind = 0; kind < kinds_; ++kind)
        if (has(buyer, kind) > 0) found_.worth += has(buyer, kind) * asked_[buyer * kinds_ + kind];
    return std::move(found_);
  }

 private:
  static constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();

  /// Some buyer could exchange a worker of one kind for one of another.
  struct Move {
    double loss = kUnpayable;
    std::size_t buyer = kNobody;

    bool operator>(const Move& other) const {
      return loss != other.loss ? loss > other.loss : buyer > other.buyer;
    }
  };
  using Moves = std::priority_queue<Move, std::vector<Move>, std::greater<>>;

  [[nodiscard]] double worth(std::size_t buyer, std::size_t kind) const {
    return worth_[buyer * kinds_ + kind];
  }
  std::int32_t& has(std::size_t buyer, std::size_t kind) {
    return found_.allocation.of(buyer)[kind];
  }

  /// The cheapest move between two kinds; those of buyers that no longer have any are dropped.
  Move cheapest(std::size_t from, std::size_t to) {
    Moves& moves = moves_[from * kinds_ + to];
    while (!moves.empty() && has(moves.top().buyer, from) == 0) moves.pop();
    return moves.empty() ? Move{} : moves.top();
  }

  /// For every kind: the least loss by which a worker of it can be had, and the next kind of that
  /// chain. There are no cycles of gain: what has been matched is matched best.
  void find_chains() {
    loss_.assign(kinds_, kUnpayable);
    next_.assign(kinds_, kNone);
    step_.assign(kinds_, {});
    for (std::size_t kind = 0; kind < kinds_; ++kind)
      if (left_[kind] > 0) loss_[kind] = 0;
    for (std::size_t round = 1; round < kinds_; ++round) {
      bool changed = false;
      for (std::size_t from = 0; from < kinds_; ++from) {
        if (left_[from] > 0) continue;  // a chain from it would be a gain
        for (std::size_t to = 0; to < kinds_; ++to) {
          if (from == to || loss_[to] == kUnpayable) continue;
          const Move move = cheapest(from, to);
          if (move.loss + loss_[to] >= loss_[from]) continue;
          loss_[from] = move.loss + loss_[to];
          next_[from] = to;
          step_[from] = move;
          changed = true;
        }
      }
      if (!changed) break;
    }
  }

  [[nodiscard]] std::size_t best_kind(std::size_t buyer) const {
    std::size_t best = kNone;
    double gain = -kUnpayable;
    for (std::size_t kind = 0; kind < kinds_; ++kind) {
      if (worth(buyer, kind) < 0 || loss_[kind] == kUnpayable) continue;
      if (worth(buyer, kind) - loss_[kind] <= gain) continue;
      gain = worth(buyer, kind) - loss_[kind];
      best = kind;
    }
    return best;
  }

  /// As many as the whole chain allows; says how many.
  std::int32_t take(std::size_t buyer, std::size_t first, std::int32_t most) {
    std::size_t last = first;
    for (; next_[last] != kNone; last = next_[last])
      most = std::min(most, has(step_[last].buyer, last));
    most = std::min(most, left_[last]);
    for (std::size_t kind = first; next_[kind] != kNone; kind = next_[kind]) {
      has(step_[kind].buyer, kind) -= most;
      add(step_[kind].buyer, next_[kind], most);
    }
    add(buyer, first, most);
    left_[last] -= most;
    return most;
  }

  void add(std::size_t buyer, std::size_t kind, std::int32_t workers) {
    const bool is_new = has(buyer, kind) == 0;
    has(buyer, kind) += workers;
    if (!is_new) return;
    for (std::size_t to = 0; to < kinds_; ++to)
      if (to != kind && worth(buyer, to) >= 0)
        moves_[kind * kinds_ + to].push({worth(buyer, kind) - worth(buyer, to), buyer});
  }

  std::size_t kinds_;
  std::span<const double> asked_;   // worth by buyer and kind, as it was given
  std::vector<double> worth_;       // the same on a grid
  std::vector<std::int32_t> left_;  // workers, by kind
  std::vector<Moves> moves_;        // by pair of kinds
  Matching found_;
  // The chains, by kind they begin with:
  std::vector<double> loss_;
  std::vector<std::size_t> next_;  // kind; kNone where there is room
  std::vector<Move> step_;         // to that
};

}  // namespace

std::optional<Matching> match(std::span<const std::int32_t> capacity,
                              std::span<const std::int32_t> sizes, std::span<const double> worth) {
  if (sizes.empty()) return Matching{Allocation(capacity.size())};
  Matcher matcher(capacity, worth, sizes.size());
  for (std::size_t buyer = 0; buyer < sizes.size(); ++buyer)
    if (!matcher.insert(buyer, sizes[buyer])) return std::nullopt;
  return matcher.result();
}

}  // namespace trainyard
