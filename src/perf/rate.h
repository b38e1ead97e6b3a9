// How fast a job's work is done. A job's duration counts its work at rate 1; at half the rate it
// takes twice as long. Kept as the time that a unit of work takes, so that the times which follow
// from it are the same whole microseconds wherever they are worked out.
//
// Time for work is rounded up and work in time down, so that no work is done before its time.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include "base/time.h"

namespace trainyard {

class Rate {
 public:
  /// As the job's duration says.
  constexpr Rate() = default;

  /// Every unit of work takes so many units of time: 2 is half the rate. More than 0.
  static constexpr Rate taking(double time_per_work) { return Rate(time_per_work); }
  /// Nothing is done.
  static constexpr Rate stopped() { return Rate(std::numeric_limits<double>::infinity()); }

  constexpr bool operator==(const Rate&) const = default;
  [[nodiscard]] constexpr double time_per_work() const { return time_per_work_; }

  /// At most Duration::max(), which stands for ever.
  [[nodiscard]] Duration time_for(Duration work) const {
    if (time_per_work_ == 1 || work.us <= 0) return work;
    const double us = std::ceil(static_cast<double>(work.us) * time_per_work_);
    return us < kMost ? Duration{static_cast<std::int64_t>(us)} : Duration::max();
  }

  [[nodiscard]] Duration work_in(Duration time) const {
    if (time_per_work_ == 1) return time;
    const double us = static_cast<double>(time.us) / time_per_work_;
    return us < kMost ? Duration{static_cast<std::int64_t>(us)} : Duration::max();
  }

 private:
  static constexpr double kMost = 9e18;  // us, a little below Duration::max()

  explicit constexpr Rate(double time_per_work) : time_per_work_(time_per_work) {}

  double time_per_work_ = 1;
};

}  // namespace trainyard
