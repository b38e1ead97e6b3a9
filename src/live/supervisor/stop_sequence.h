// When each signal of the stop sequence is due (see Stop in engine.h). Told the time by its caller.
//
//   ask         SIGCONT and the declared signal; only if one was declared
//   terminate   SIGCONT and SIGTERM
//   kill        SIGKILL to all that is left
//
// A second order never makes a step later, and is not asked twice.
#pragma once

#include <cstdint>

#include "base/time.h"
#include "live/supervisor/run_plan.h"

namespace trainyard {

class StopSequence {
 public:
  enum class Step : std::uint8_t { none, ask, terminate, kill };

  void order(const StopOrder& order, Time now);
  /// The next step whose time has come; each comes once.
  Step take(Time now);

  [[nodiscard]] bool has_begun() const { return begun_; }
  /// What `ask` sends, and to whom.
  [[nodiscard]] const StopOrder& asked() const { return asked_; }
  /// When take() has something next.
  [[nodiscard]] Time next() const;

 private:
  bool begun_ = false;
  bool ask_due_ = false, terminated_ = false, killed_ = false;
  StopOrder asked_;
  Time terminate_at_ = Time::never(), kill_at_ = Time::never();
};

}  // namespace trainyard
