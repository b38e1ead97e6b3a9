// The share of the GPU time that jobs held of late: of all the time there was while that is short,
// and then of this week and the one before. Weeks are counted from time 0, and all sums are whole
// GPU-microseconds, so that the share does not depend on how often it is asked for or observed.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "base/time.h"

namespace trainyard {

class RecentLoad {
 public:
  /// What is observed of the time before does not count.
  void begin(Time now) { at_ = now; }

  /// From now on jobs hold so many GPUs; until now, as many as were observed last.
  void observe(Time now, std::int64_t held_gpus) {
    if (at_ == Time::never()) at_ = now;
    go_on_to(now);
    held_gpus_ = held_gpus;
  }

  /// Of so many GPUs; 0 before any time has passed.
  [[nodiscard]] double share(Time now, double gpus) const {
    RecentLoad then = *this;
    if (at_ != Time::never()) then.go_on_to(now);
    const std::int64_t span_us = then.last_.span_us + then.this_.span_us;
    if (span_us == 0) return 0;
    return static_cast<double>(then.last_.held_us + then.this_.held_us) /
           (static_cast<double>(span_us) * gpus);
  }

  /// Two weeks as numbers, to be kept. What passes until it is taken up again does not count.
  [[nodiscard]] std::vector<double> numbers(Time now) const {
    RecentLoad then = *this;
    if (at_ != Time::never()) then.go_on_to(now);
    const auto number = [](std::int64_t us) { return static_cast<double>(us); };
    return {number(then.last_.span_us), number(then.last_.held_us), number(then.this_.span_us),
            number(then.this_.held_us)};
  }
  void take(std::span<const double> numbers) {
    if (numbers.size() != 4) return;
    const auto us = [&](std::size_t i) {
      return static_cast<std::int64_t>(std::min(numbers[i], 1e18));
    };
    last_ = {us(0), us(1)};
    this_ = {us(2), us(3)};
  }

 private:
  struct Week {
    std::int64_t span_us = 0, held_us = 0;
  };
  static constexpr std::int64_t kWeekUs = days(7).us;

  void go_on_to(Time now) {
    while (at_ < now) {
      const std::int64_t next_week_us = (at_.us / kWeekUs + 1) * kWeekUs;
      const std::int64_t passed_us = std::min(now.us, next_week_us) - at_.us;
      this_.span_us += passed_us;
      this_.held_us += passed_us * held_gpus_;
      at_.us += passed_us;
      if (at_.us == next_week_us) last_ = this_, this_ = {};
    }
  }

  Time at_ = Time::never();  // up to when the sums go
  std::int64_t held_gpus_ = 0;
  Week last_, this_;
};

}  // namespace trainyard
