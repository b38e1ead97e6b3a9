// The time that is written down: the wall clock as it was at the start, and what has passed since.
// Setting the clock of the machine does not matter.
#pragma once

#include <algorithm>

#include "base/time.h"
#include "live/system/system.h"

namespace trainyard {

class LiveClock {
 public:
  /// Nothing that was written down before is later than its start.
  LiveClock(System& system, Time last_written)
      : system_(system),
        began_(std::max(system.wall_clock(), last_written)),
        steady_(system.steady_clock()) {}

  [[nodiscard]] Time now() const { return began_ + (system_.steady_clock() - steady_); }
  [[nodiscard]] Time began() const { return began_; }
  /// It is at least so late.
  void advance_to(Time time) { began_ = std::max(began_, time); }

 private:
  System& system_;
  Time began_, steady_;
};

}  // namespace trainyard
