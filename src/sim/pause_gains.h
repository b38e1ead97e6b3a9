// What pauses were expected to gain, and what they did gain, under policies that reckon it.
//
// A pause of victims V for a waiter, decided at t, has gained
//
//   (wait spared) - (start of the waiter - t) - sum over V of (time away) - (delay of others)
//
// where away is from being told to leave to running again. When the waiter starts and how long the
// victims are away is what happened; the wait that was spared and the delay of others did not
// happen or cannot be told apart, and stay as they were reckoned. It is known when the waiter has
// started and all victims are back (or over); until then it counts in neither sum.
#pragma once

#include <unordered_map>
#include <vector>

#include "policy/reckoning.h"
#include "yard/yard.h"

namespace trainyard {

class PauseGains final : public YardListener, public ReckoningListener {
 public:
  struct Pause {
    JobId waiter = kNoJob;
    Time at;
    double expected_s = 0;
    double actual_s = 0;        // as far as it is known
    std::uint32_t pending = 0;  // the waiter, and victims that are not back; 0: it is complete
  };

  explicit PauseGains(const Yard& yard) : yard_(yard) {}

  void on_reckoning(JobId waiter, const PauseReckoning& reckoned) override {
    reckoned_for_ = waiter;
    reckoned_ = reckoned;
  }

  void on_phase(JobId job, Phase /*from*/, Phase to) override {
    if (to == Phase::draining) return leave(job);
    if (starts_.empty() && returns_.empty()) return;
    if (to == Phase::starting || has_ended(to)) close(starts_, job);
    if (to == Phase::running || has_ended(to)) close(returns_, job);
  }

  /// In the order in which they were decided.
  [[nodiscard]] const std::vector<Pause>& pauses() const { return pauses_; }

 private:
  struct Open {
    std::size_t pause;
    Time since;
  };
  using Opened = std::unordered_map<JobId, Open>;

  /// The first victim of a decision opens its pause.
  void leave(JobId victim) {
    const JobId waiter = yard_.making_room_for(victim);
    if (waiter == kNoJob || waiter != reckoned_for_) return;
    const auto known = starts_.find(waiter);
    if (known == starts_.end() || pauses_[known->second.pause].at != yard_.now()) {
      pauses_.push_back(
          {waiter, yard_.now(), reckoned_.gain_s, reckoned_.spared_s - reckoned_.others_s, 1});
      starts_[waiter] = {pauses_.size() - 1, yard_.now()};
    }
    const std::size_t pause = starts_[waiter].pause;
    ++pauses_[pause].pending;
    returns_[victim] = {pause, yard_.now()};
  }

  void close(Opened& opened, JobId job) {
    const auto found = opened.find(job);
    if (found == opened.end()) return;
    Pause& pause = pauses_[found->second.pause];
    pause.actual_s -= (yard_.now() - found->second.since).seconds();
    --pause.pending;
    opened.erase(found);
  }

  const Yard& yard_;
  JobId reckoned_for_ = kNoJob;  // the job that room was found for last
  PauseReckoning reckoned_;
  std::vector<Pause> pauses_;
  Opened starts_, returns_;  // waiters that have not started, victims that are away
};

}  // namespace trainyard
