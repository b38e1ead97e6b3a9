// What every preemption shares: offering victims to the room finder, leaving out those that the
// yard protects, and remembering when the first of those could be had.
#pragma once

#include <algorithm>
#include <span>

#include "yard/room.h"
#include "yard/yard.h"

namespace trainyard {

class Offers {
 public:
  Offers(const Yard& yard, JobId waiter, Reach reach, RoomFinder& finder, Time& retry)
      : yard_(yard), waiter_(waiter), reach_(reach), finder_(finder), retry_(retry) {}

  /// True: the waiter's gang fits with this one, and no more are needed.
  bool make(JobId victim) {
    if (const Time from = yard_.pausable_from(victim, waiter_); from > yard_.now()) {
      retry_ = std::min(retry_, from);
      return false;
    }
    if (!begun_) finder_.begin(waiter_, reach_);
    begun_ = true;
    return accepted_ = finder_.offer(victim);
  }

  [[nodiscard]] bool accepted() const { return accepted_; }
  /// When it is accepted.
  [[nodiscard]] const Placement& room() const { return finder_.room(); }
  [[nodiscard]] std::span<const JobId> victims() const { return finder_.victims(); }

 private:
  const Yard& yard_;
  JobId waiter_;
  Reach reach_;
  RoomFinder& finder_;
  Time& retry_;
  bool begun_ = false, accepted_ = false;
};

}  // namespace trainyard
