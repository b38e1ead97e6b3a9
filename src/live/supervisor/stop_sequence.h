// When each signal of the stop sequence is due (see Stop in engine.h). Told the time by its caller.
//
//   ask         SIGCONT and the declared signal; only if one was declared
//   terminate   SIGCONT and SIGTERM
//   kill        SIGKILL to all that is left
//
// A second order never makes a step later. A job is asked once: one that was asked before its time
// limit is only given its grace when it is stopped after that.
#pragma once

#include <cstdint>

#include "base/time.h"
#include "live/supervisor/run_plan.h"

namespace trainyard {

class StopSequence {
 public:
  enum class Step : std::uint8_t { none, ask, terminate, kill };

  /// `ask` is due at this time, whether or not an order to stop comes: nothing else follows.
  void ask_at(const StopOrder& how, Time when);
  void order(const StopOrder& order, Time now);
  /// The next step whose time has come; each comes once.
  Step take(Time now);

  /// An order to stop has come.
  [[nodiscard]] bool has_begun() const { return begun_; }
  [[nodiscard]] bool has_asked() const { return has_asked_; }
  /// What `ask` sends, and to whom.
  [[nodiscard]] const StopOrder& asked() const { return asked_; }
  /// When take() has something next.
  [[nodiscard]] Time next() const;

 private:
  bool begun_ = false;
  bool has_asked_ = false, terminated_ = false, killed_ = false;
  StopOrder asked_;
  Time ask_at_ = Time::never(), terminate_at_ = Time::never(), kill_at_ = Time::never();
};

}  // namespace trainyard
