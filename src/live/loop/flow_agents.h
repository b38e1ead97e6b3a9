// The agents that carry flow classes out: which machines one has asked for of late. A daemon has
// some while at least one machine has; without any, a flow stage would wake the policy and change
// jobs to no effect.
//
// An agent that cannot be heard for a moment is no reason to begin the policy anew, so they count
// as there for a while after they last asked. Safe to call from any thread.
#pragma once

#include <map>
#include <mutex>
#include <string>

#include "base/time.h"

namespace trainyard {

class FlowAgents {
 public:
  static constexpr Duration kThereFor = minutes(5);

  /// One asks for this machine, by a clock that nobody sets.
  void note(const std::string& machine, Time now) {
    const std::lock_guard lock(mutex_);
    asked_[machine] = now;
  }
  [[nodiscard]] bool any(Time now) const { return ends(now) != Time::never(); }
  [[nodiscard]] bool has(const std::string& machine, Time now) const {
    const std::lock_guard lock(mutex_);
    const auto found = asked_.find(machine);
    return found != asked_.end() && now - found->second < kThereFor;
  }
  /// When there will be none any more, if none asks again; never() if there is none now.
  [[nodiscard]] Time ends(Time now) const {
    const std::lock_guard lock(mutex_);
    Time last = Time::never();
    for (const auto& [machine, asked] : asked_)
      if (now - asked < kThereFor && (last == Time::never() || asked + kThereFor > last))
        last = asked + kThereFor;
    return last;
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::string, Time> asked_;
};

}  // namespace trainyard
