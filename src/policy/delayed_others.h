// Whom a loss of GPU time delays: all that wait, and all that come until the queue is worked off.
// With a load of rho, for each that waits there are 1 / (1 - rho) of these. rho counts as 7/8 at
// most: the nearer it is to 1 the more of those that come are short, and pass the queue.
//
// A GPU-second that is lost, by a pause or by a slow placement, so costs the others together
//
//   W / (1 - rho) / (GPUs of the cluster)
//
// seconds of completion time. Example: 10 jobs wait for 64 GPUs at a load of 0.75; 8 GPUs that
// stand still for a minute cost them 10 / 0.25 x 8 / 64 = 5 minutes.
#pragma once

#include <algorithm>

#include "policy/learnt.h"
#include "policy/recent_load.h"
#include "yard/yard.h"

namespace trainyard {

/// W / (1 - rho).
inline double delayed_by_a_loss(std::int64_t waiting, double load) {
  constexpr double kMostLoad = 7.0 / 8;
  return static_cast<double>(waiting) / (1 - std::min(load, kMostLoad));
}

class DelayedOthers {
 public:
  void on_phase(const Yard& yard, Phase from, Phase to) {
    load_.observe(yard.now(), yard.held_gpus());
    if (from == Phase::queued) --waiting_;
    if (to == Phase::queued) ++waiting_;
  }

  void save_learnt(Learnt& learnt) const { learnt["load"] = load_.numbers(); }
  void recall(const Learnt& learnt, Time now) {
    load_.begin(now);
    each_learnt(learnt, "load", [&](std::string_view, auto numbers) { load_.take(numbers); });
  }

  /// In the queue.
  [[nodiscard]] std::int64_t waiting() const { return waiting_; }
  /// What a GPU-second costs all that wait but one.
  [[nodiscard]] double per_gpu(const Yard& yard) const {
    const double gpus = std::max(yard.cluster().total_gpus, 1);
    const std::int64_t others = std::max<std::int64_t>(waiting_ - 1, 0);
    return delayed_by_a_loss(others, load_.share(yard.now(), gpus)) / gpus;
  }

 private:
  RecentLoad load_;
  std::int64_t waiting_ = 0;
};

}  // namespace trainyard
