// A market for GPUs of several kinds: how many workers of which kind each of many jobs gets, so
// that the sum of their completion times is least (Liu et al.: synchronous jobs whose batch is
// shared in proportion to the speed of their workers). Nothing here knows of machines or time: the
// policy that goes to market (policy/joint/market.cpp) does.
//
// GPUs of one kind are interchangeable, so what a buyer has is a number of workers of each kind.
// With R the sum of their powers and K their number, an iteration takes
//
//   computing      unit_s / R                   all are done at once
//   communicating  communication_s[K], of which computing may hide a part (perf/speed.h)
//
// and the buyer is done after J = iterations x both. What is minimised is the sum of
//
//   weight x J (1 + fairness x J / fair_s)      fair_s: its J in an equal split
//
// where a buyer that has workers already and gets others is done later by its pause, which costs
// others something, too; one that gets nothing costs idle_cost. With weights of 1, no fairness and
// no pauses it is the paper's objective. The term of fairness is ours: it is convex, each buyer's
// own, and weighs on who would be better off with an equal part.
//
// Example: two kinds, one worker each; A has 100 iterations of 1 s, powers 1 and 2, B the same with
// powers 1 and 4. B on the second: 100 + 25 = 125 s; A on it: 50 + 100 = 150 s.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "perf/speed.h"

namespace trainyard {

/// The cost of what must not be.
inline constexpr double kUnpayable = std::numeric_limits<double>::infinity();

struct Buyer {
  double iterations = 0;  // left, > 0
  double unit_s = 1;      // computing of one, on power 1
  std::int32_t min_workers = 1, max_workers = 1;
  std::int32_t gpus = 1;    // of each worker
  bool mixes_kinds = true;  // false: all its workers are of one kind
  double overlap = 0;       // the share of computing that can hide communication
  /// By the number of workers, from 0 to max_workers; empty: it takes no time.
  std::span<const double> communication_s = {};

  double weight = 1;
  double fair_s = 0;  // 0: no term of fairness
  double idle_cost = kUnpayable;
  // Of getting anything else than it has, if it has something:
  double pause_s = 0;      // what it loses before it goes on
  double change_cost = 0;  // to others
};

/// J, of workers whose powers add up to more than 0.
inline double completion_s(const Buyer& buyer, double power, std::int32_t workers) {
  const double compute_s = buyer.unit_s / power;
  if (buyer.communication_s.empty()) return buyer.iterations * compute_s;
  const double communication_s = buyer.communication_s[static_cast<std::size_t>(workers)];
  return buyer.iterations * (compute_s + exposed_time(communication_s, compute_s, buyer.overlap));
}

/// What it adds to the sum.
inline double cost_of(const Buyer& buyer, double fairness, double power, std::int32_t workers,
                      bool changes = false) {
  const double others = changes ? buyer.change_cost : 0, pause_s = changes ? buyer.pause_s : 0;
  if (workers == 0) return buyer.idle_cost + buyer.weight * pause_s + others;
  const double done_s = completion_s(buyer, power, workers) + pause_s;
  const double unfair = buyer.fair_s > 0 ? fairness * done_s / buyer.fair_s : 0;
  return buyer.weight * done_s * (1 + unfair) + others;
}

/// J of a buyer that has an equal part of so many GPUs of each kind, of which it has so much power
/// each: as many workers as it can use of that, of mean power.
double equal_split_s(const Buyer& buyer, std::span<const double> power,
                     std::span<const std::int32_t> gpus, std::size_t buyers);

/// So many workers of each kind, by buyer.
class Allocation {
 public:
  explicit Allocation(std::size_t kinds, std::size_t buyers = 0)
      : kinds_(kinds), workers_(buyers * kinds) {}

  bool operator==(const Allocation&) const = default;
  [[nodiscard]] std::span<const std::int32_t> of(std::size_t buyer) const {
    return {workers_.data() + buyer * kinds_, kinds_};
  }
  [[nodiscard]] std::span<std::int32_t> of(std::size_t buyer) {
    return {workers_.data() + buyer * kinds_, kinds_};
  }
  /// For one more buyer; none if it is empty.
  void add(std::span<const std::int32_t> workers) {
    workers_.resize(workers_.size() + kinds_);
    std::ranges::copy(workers, workers_.end() - static_cast<std::ptrdiff_t>(kinds_));
  }
  [[nodiscard]] std::int32_t workers(std::size_t buyer) const {
    std::int32_t sum = 0;
    for (const std::int32_t workers : of(buyer)) sum += workers;
    return sum;
  }

 private:
  std::size_t kinds_;
  std::vector<std::int32_t> workers_;
};

class Market {
 public:
  /// So many GPUs on offer of each kind, those that buyers have included.
  explicit Market(std::vector<std::int32_t> gpus, double fairness = 0)
      : gpus_(std::move(gpus)), fairness_(fairness), has_(gpus_.size()) {}

  /// `power` of one worker on each kind, 0: it cannot run there; `has`: the workers that it has
  /// now, if any.
  void add(const Buyer& buyer, std::span<const double> power,
           std::span<const std::int32_t> has = {});

  [[nodiscard]] std::size_t kinds() const { return gpus_.size(); }
  [[nodiscard]] std::size_t size() const { return buyers_.size(); }
  [[nodiscard]] std::int32_t gpus(std::size_t kind) const { return gpus_[kind]; }
  [[nodiscard]] const std::vector<std::int32_t>& gpus() const { return gpus_; }
  [[nodiscard]] const Buyer& buyer(std::size_t i) const { return buyers_[i]; }
  [[nodiscard]] double fairness() const { return fairness_; }
  [[nodiscard]] std::span<const double> power(std::size_t buyer) const {
    return {powers_.data() + buyer * kinds(), kinds()};
  }
  [[nodiscard]] const Allocation& has() const { return has_; }
  [[nodiscard]] bool has_some(std::size_t buyer) const { return has_some_[buyer]; }

  /// Of all those workers together.
  [[nodiscard]] double power(std::size_t buyer, std::span<const std::int32_t> workers) const;
  /// What the buyer adds to the sum.
  [[nodiscard]] double cost(std::size_t buyer, std::span<const std::int32_t> workers) const;
  [[nodiscard]] double cost(const Allocation& allocation) const;
  /// Whether the buyer can use those workers, or none; whether there are so many is not asked.
  [[nodiscard]] bool can_have(std::size_t buyer, std::span<const std::int32_t> workers) const;
  /// Why that cannot be: more than there is, or not what a buyer can use. Empty: it can.
  [[nodiscard]] std::string fault_of(const Allocation& allocation) const;

 private:
  std::vector<std::int32_t> gpus_;
  double fairness_;
  std::vector<Buyer> buyers_;
  std::vector<double> powers_;  // by buyer and kind
  std::vector<bool> has_some_;
  Allocation has_;
};

}  // namespace trainyard
