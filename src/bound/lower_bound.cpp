#include "bound/lower_bound.h"

#include <algorithm>
#include <cstdint>

#include "bound/greedy_prices.h"

namespace trainyard {
namespace {

constexpr std::size_t kFirstCells = 256;
constexpr std::size_t kEvenCells = 1024;  // up to here all cells are halved
constexpr std::size_t kMostCells = 4096;
constexpr std::uint64_t kMostEffort = 600'000'000;  // on a grid: some ten seconds
constexpr int kSteps = 30;                          // on each grid
constexpr int kMisses = 4;                          // until less is hoped for
constexpr double kDeflection = 1.5;                 // Camerini's recommendation
constexpr double kSmallGain = 5e-4;                 // of the bound, by halving cells
constexpr double kRounding = 1e-9;                  // more than all sums here are off by, relative

/// Prices with the value L and the use that come of them.
struct Trial {
  Prices prices;
  double value_s = 0;         // sum over the jobs
  std::vector<double> gpu_s;  // used of each cell
  std::uint64_t effort = 0;   // RunPlanner::effort()
};

class Ascent {
 public:
  Ascent(std::span<const Gang> gangs, double gpus) : gangs_(gangs), gpus_(gpus) {}

  /// The best trial found.
  Trial run() {
    trial_.prices = even_grid();
    evaluate();
    best_ = trial_;
    set_greedy_prices(gangs_, gpus_, trial_.prices);
    evaluate();
    if (trial_.value_s > best_.value_s) best_ = trial_;
    hoped_s_ = best_.value_s / 10;
    while (true) {
      const double before_s = best_.value_s;
      climb();
      const bool is_even = best_.prices.cells() < kEvenCells;
      if (!is_even && best_.value_s - before_s < kSmallGain * best_.value_s) return best_;
      if (2 * best_.prices.cells() > kMostCells) return best_;
      if (2 * kSteps * best_.effort > kMostEffort) return best_;
      halve_cells(is_even);
    }
  }

 private:
  /// To beyond the time at which a cluster that is never idle while there is work would be done.
  [[nodiscard]] Prices even_grid() const {
    double begin_s = gangs_.front().ready_s, longest_s = 0;
    for (const Gang& gang : gangs_) begin_s = std::min(begin_s, gang.ready_s);
    double end_s = begin_s;
    for (const Gang& gang : gangs_) {
      end_s = std::max(end_s, gang.ready_s);
      if (gpus_ > 0) end_s += gang.length_s * gang.gpus / gpus_;
      longest_s = std::max(longest_s, gang.length_s);
    }
    Prices prices{{}, std::vector<double>(kFirstCells, 0)};
    const double cell_s = (end_s + longest_s - begin_s) / kFirstCells;
    for (std::size_t i = 0; i <= kFirstCells; ++i)
      prices.from_s.push_back(begin_s + cell_s * static_cast<double>(i));
    return prices;
  }

  void evaluate() {
    const Prices& prices = trial_.prices;
    trial_.gpu_s.assign(prices.cells(), 0);
    trial_.value_s = 0;
    RunPlanner planner(prices);
    for (const Gang& gang : gangs_) {
      const CheapestRun run = planner.plan(gang);
      planner.add_use(gang, run, trial_.gpu_s);
      trial_.value_s += run.cost_s - gang.submit_s;
    }
    trial_.effort = planner.effort();
    for (std::size_t i = 0; i < prices.cells(); ++i)
      trial_.value_s -= prices.price[i] * gpus_ * prices.cell_s(i);
  }

  /// Polyak's steps on one grid.
  void climb() {
    go_on_from_best();
    int misses = 0;
    for (int i = 0; i < kSteps; ++i) {
      if (!step()) return;
      evaluate();
      const double gain_s = trial_.value_s - best_.value_s;
      if (gain_s > 0) best_ = trial_;
      misses = gain_s > hoped_s_ / 20 ? 0 : misses + 1;
      if (misses <= kMisses) continue;
      misses = 0;
      hoped_s_ /= 2;
      go_on_from_best();
    }
    hoped_s_ = std::max(4 * hoped_s_, best_.value_s / 500);
  }

  void go_on_from_best() {
    trial_ = best_;
    direction_.assign(best_.prices.cells(), 0);
  }

  /// False where the subgradient is 0: then the trial has the highest value.
  bool step() {
    const std::vector<double> excess = missing_gpus();
    const double apart = -product(excess, direction_), square = product(direction_, direction_);
    const double kept = apart > 0 ? kDeflection * apart / square : 0;
    Prices& prices = trial_.prices;
    for (std::size_t i = 0; i < prices.cells(); ++i) {
      direction_[i] = excess[i] + kept * direction_[i];
      if (prices.price[i] <= 0) direction_[i] = std::max(direction_[i], 0.0);
    }
    const double length_square = product(direction_, direction_);
    if (length_square <= 0) return false;
    const double length = (best_.value_s + hoped_s_ - trial_.value_s) / length_square;
    for (std::size_t i = 0; i < prices.cells(); ++i)
      prices.price[i] = std::max(prices.price[i] + length * direction_[i], 0.0);
    return true;
  }

  /// The subgradient at the trial: the GPUs that are wanted and not there.
  [[nodiscard]] std::vector<double> missing_gpus() const {
    std::vector<double> missing;
    for (std::size_t i = 0; i < trial_.prices.cells(); ++i) {
      const double gpus = trial_.gpu_s[i] / trial_.prices.cell_s(i) - gpus_;
      missing.push_back(trial_.prices.price[i] > 0 ? gpus : std::max(gpus, 0.0));
    }
    return missing;
  }

  /// Of two functions of time.
  [[nodiscard]] double product(const std::vector<double>& a, const std::vector<double>& b) const {
    double sum = 0;
    for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i] * trial_.prices.cell_s(i);
    return sum;
  }

  /// All of them, or those that have a price or stand beside one that has. The value is the same.
  void halve_cells(bool all) {
    const Prices old = std::move(best_.prices);
    const auto has_price = [&](std::size_t i) { return i < old.cells() && old.price[i] > 0; };
    best_.prices = {{old.from_s.front()}, {}};
    for (std::size_t i = 0; i < old.cells(); ++i) {
      if (all || has_price(i) || has_price(i + 1) || (i > 0 && has_price(i - 1))) {
        best_.prices.from_s.push_back((old.from_s[i] + old.from_s[i + 1]) / 2);
        best_.prices.price.push_back(old.price[i]);
      }
      best_.prices.from_s.push_back(old.from_s[i + 1]);
      best_.prices.price.push_back(old.price[i]);
    }
    trial_.prices = best_.prices;
    evaluate();
    best_ = trial_;
  }

  std::span<const Gang> gangs_;
  double gpus_;
  double hoped_s_ = 0;  // by how much the next step may raise the value
  Trial trial_, best_;
  std::vector<double> direction_;  // of the last step
};

/// Without the boundaries at which the price stays as it is.
Prices merged(const Prices& prices) {
  Prices result{{}, {}};
  for (std::size_t i = 0; i < prices.cells(); ++i) {
    if (!result.price.empty() && result.price.back() == prices.price[i]) continue;
    result.from_s.push_back(prices.from_s[i]);
    result.price.push_back(prices.price[i]);
  }
  result.from_s.push_back(prices.from_s.back());
  return result;
}

}  // namespace

LowerBound lower_bound(std::span<const Gang> gangs, double gpus) {
  if (gangs.empty()) return {};
  double run_s = 0;
  for (const Gang& gang : gangs) run_s += gang.ready_s - gang.submit_s + gang.length_s;
  const Trial best = Ascent(gangs, gpus).run();
  const auto jobs = static_cast<double>(gangs.size());
  return {gangs.size(), best.value_s / jobs * (1 - kRounding), run_s / jobs, merged(best.prices)};
}

}  // namespace trainyard
