// GPUs held over time, in a fixed number of intervals: when the run outgrows them, neighbours are
// merged and the interval doubles. So a run of any length costs the same memory.
#pragma once

#include <array>

#include "base/time.h"
#include "sim/result.h"

namespace trainyard {

class UtilizationRecorder {
 public:
  /// `held` GPUs were held from `from` (not before the last call's `to`) up to `to`.
  void add(Time from, Time to, std::int64_t held);

  [[nodiscard]] double gpu_us() const { return total_; }
  [[nodiscard]] UtilizationSeries series(std::int64_t gpus) const;

 private:
  static constexpr std::size_t kIntervals = 512;

  void merge();
  /// Of interval i.
  [[nodiscard]] Time beginning(std::size_t i) const {
    return Time{} + interval_ * static_cast<std::int64_t>(i);
  }

  std::array<double, kIntervals> gpu_us_{};
  Duration interval_ = seconds(1);
  Time end_;
  double total_ = 0;
};

}  // namespace trainyard
