// How long jobs of one demand waited for placements of one tier, and what that says of how long to
// wait: for the timers of delay scheduling.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <deque>
#include <limits>
#include <span>
#include <vector>

#include "base/time.h"

namespace trainyard {

/// The published tuner of Dally: mean and deviation of the waits within a sliding window, in
/// leases.
class WaitWindow {
 public:
  void add(Time at, double leases) {
    waits_.push_back({at, leases});
    sum_ += leases;
    squares_ += leases * leases;
  }

  /// As numbers, to be kept.
  [[nodiscard]] std::vector<double> numbers() const {
    std::vector<double> all;
    for (const Wait& wait : waits_)
      all.insert(all.end(), {static_cast<double>(wait.at.us), wait.leases});
    return all;
  }
  void take(std::span<const double> numbers) {
    for (std::size_t i = 0; i + 1 < numbers.size(); i += 2)
      add(Time{static_cast<std::int64_t>(std::min(numbers[i], 9e18))}, numbers[i + 1]);
  }

  /// Sums keep what rounding left of waits that are over.
  [[nodiscard]] std::vector<double> sums() const { return {sum_, squares_}; }
  void take_sums(std::span<const double> sums) {
    if (sums.size() == 2) sum_ = sums[0], squares_ = sums[1];
  }

  /// Mean plus twice the deviation; 1 where there is none.
  [[nodiscard]] double estimate(Time now, Duration window) {
    for (; !waits_.empty() && waits_.front().at + window < now; waits_.pop_front()) {
      sum_ -= waits_.front().leases;
      squares_ -= waits_.front().leases * waits_.front().leases;
    }
    if (waits_.empty()) return sum_ = squares_ = 0, 1;
    const double n = static_cast<double>(waits_.size()), mean = sum_ / n;
    return mean + 2 * std::sqrt(std::max(0.0, squares_ / n - mean * mean));
  }

 private:
  struct Wait {
    Time at;
    double leases = 0;
  };
  std::deque<Wait> waits_;
  double sum_ = 0, squares_ = 0;
};

/// Ours: a life table. Waits fall into bins by age, each twice as long as the last; a bin knows for
/// how long jobs waited in it altogether, and how many of them got what they waited for in it.
/// Those who gave up count as long as they waited. From that follows how much longer a job that has
/// waited for so long can expect to wait, with no assumption on the distribution but that it is
/// level within a bin.
class LifeTable {
 public:
  static constexpr std::size_t kBins = 16;

  /// The first bin ends here.
  explicit LifeTable(Duration unit) : unit_(unit) {}

  [[nodiscard]] Duration begin_of(std::size_t bin) const {
    return bin == 0 ? Duration{} : unit_ * (std::int64_t{1} << (bin - 1));
  }

  void add(Duration wait, bool got_it) {
    for (std::size_t bin = 0; bin < kBins && begin_of(bin) <= wait; ++bin) {
      const Duration end = bin + 1 < kBins ? begin_of(bin + 1) : Duration::max();
      Bin& b = bins_[bin];
      b.waited += (std::min(wait, end) - begin_of(bin)).seconds();
      if (wait < end && got_it) b.served += 1;
    }
    // What is long ago counts less: half as much after kMemory more waits.
    constexpr double kMemory = 64;
    const double fade = std::exp2(-1 / kMemory);
    for (Bin& b : bins_) b.waited *= fade, b.served *= fade;
  }

  /// As numbers, to be kept.
  [[nodiscard]] std::vector<double> numbers() const {
    std::vector<double> all{unit_.seconds()};
    for (const Bin& b : bins_) all.insert(all.end(), {b.waited, b.served});
    return all;
  }
  /// Only what was learnt with the same bins.
  void take(std::span<const double> numbers) {
    if (numbers.size() != 1 + 2 * kBins || numbers[0] != unit_.seconds()) return;
    for (std::size_t bin = 0; bin < kBins; ++bin)
      bins_[bin] = {numbers[1 + 2 * bin], numbers[2 + 2 * bin]};
  }

  /// How much longer, for one that has waited until this bin begins. Where nothing is known of a
  /// bin it is a unit, as with the published tuner. (To expect as much as in the bin before, or as
  /// long again as one has waited, makes jobs give up too soon: up to 2% and 8% longer completion
  /// times than with the published tuner in the worst condition of the study, where this has 4%
  /// shorter.)
  [[nodiscard]] double expected_s(std::size_t from) const {
    double expected = 0, still_waits = 1;
    for (std::size_t bin = from; bin < kBins; ++bin) {
      const Bin& b = bins_[bin];
      const double rate = (b.served + kPrior) / (b.waited + kPrior * unit_.seconds());
      if (bin + 1 == kBins) return expected + still_waits / rate;
      const double length = (begin_of(bin + 1) - begin_of(bin)).seconds();
      const double survives = std::exp(-rate * length);
      expected += still_waits * (1 - survives) / rate;
      still_waits *= survives;
    }
    return expected;
  }

 private:
  static constexpr double kPrior = 0.5;

  struct Bin {
    double waited = 0;  // seconds
    double served = 0;
  };
  Duration unit_;
  std::array<Bin, kBins> bins_{};
};

}  // namespace trainyard
