// The time that is written down: the wall clock, but such that what lies between two times has
// really passed. It goes on by the steady clock; when somebody sets the wall clock, or it was wrong
// at a start, the two differ (off_by), and whoever keeps times moves all of them at once (shift).
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <sstream>
#include <string>

#include "base/time.h"
#include "live/system/system.h"

namespace trainyard {

class LiveClock {
 public:
  /// `kept` is what kept() gave in an earlier life. If the machine has not been started anew since,
  /// it is known what time has passed, whatever older events say: all times but theirs moved with
  /// the clock. Else the wall clock is believed, but for what is earlier than what was written
  /// down.
  LiveClock(System& system, const std::optional<std::string>& kept, Time last_written)
      : system_(system), steady_(system.steady_clock()) {
    std::istringstream in(kept.value_or(""));
    std::string boot;
    Time steady, then;
    const bool is_kept = static_cast<bool>(in >> boot >> steady.us >> then.us);
    const bool is_known = is_kept && boot == system.boot();
    began_ = is_known ? then + (steady_ - steady) : std::max(system.wall_clock(), last_written);
    if (!is_kept) then = last_written;
    if (!is_known && then != Time{}) gap_ = began_ - then;
  }

  [[nodiscard]] Time now() const { return began_ + (system_.steady_clock() - steady_); }
  [[nodiscard]] Time began() const { return began_; }
  /// From the last time that was kept to the beginning, where only the wall clock says so.
  [[nodiscard]] Duration unexplained_gap() const { return gap_; }
  /// It is at least so late.
  void advance_to(Time time) { shift(std::max(time - now(), Duration{})); }

  /// What the wall clock is ahead of this one.
  [[nodiscard]] Duration off_by() const { return system_.wall_clock() - now(); }
  void shift(Duration by) { began_ = began_ + by; }
  [[nodiscard]] std::string kept() const {
    const Time steady = system_.steady_clock();
    return fmt::format("{} {} {}", system_.boot(), steady.us, (began_ + (steady - steady_)).us);
  }

 private:
  System& system_;
  Time began_, steady_;
  Duration gap_;
};

}  // namespace trainyard
