// Tells when a run's supervisor does not do its work any more, and has to be ended so that the
// run's GPUs become free. A supervisor ends by itself a moment after the last process of its run,
// and kills all of them when an order to stop is used up. So it is stuck
//
//   when no process of the run has lived for a minute, or
//   when the time to kill the run was over a minute ago.
//
// Time counts only while looks come: a daemon or a machine that stood still has seen nothing.
#pragma once

#include <algorithm>
#include <optional>
#include <string>

#include "base/time.h"

namespace trainyard {

class Watchdog {
 public:
  /// `patience` is the minute.
  explicit Watchdog(Duration patience) : patience_(patience) {}

  /// The run was told to stop, such that nothing of it lives after `due`.
  void expect_end(Time due) { due_ = std::min(due_, due); }
  /// Returns why the supervisor is to be ended, once. `now` is by the steady clock.
  [[nodiscard]] std::optional<std::string> look(Time now, bool has_processes);
  /// True when it was to be ended a minute ago, and is still there without a process: the kernel
  /// does not let it go, and lets it do nothing either.
  [[nodiscard]] bool is_beyond_reach() const { return empty_since_ended_ >= patience_; }

 private:
  static constexpr Duration kLongestLook = seconds(2);

  Duration patience_;
  Time due_ = Time::never();
  std::optional<Time> last_look_;
  Duration empty_, overdue_, empty_since_ended_;
  bool is_ended_ = false;
};

}  // namespace trainyard
