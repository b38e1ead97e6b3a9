// The price of a GPU-second: what it costs all jobs that wait together if one GPU stands still for
// a second, in seconds of completion time.
//
// Lost GPU time delays every job that waits, and those that arrive before the queue is worked off:
// at a load of rho these are 1 / (1 - rho) for each job that waits. So with W jobs in the queue
//
//   price = (W - 1) / (1 - rho) / (GPUs of the cluster)
//
// where the job that asks is not counted. rho counts as 7/8 at most: the nearer it is to 1, the
// more of the jobs that arrive are short and pass the queue.
//
// Example: 11 jobs wait for 64 GPUs at a load of 0.75. Eight GPUs that stand still for a minute
// cost the ten others 10 / 0.25 x 8 / 64 = 5 minutes.
#pragma once

#include <algorithm>

#include "policy/learnt.h"
#include "policy/recent_load.h"
#include "yard/yard.h"

namespace trainyard {

class GpuPrice {
 public:
  explicit GpuPrice(const Yard& yard) : yard_(yard) {}

  void on_phase(Phase from, Phase to) {
    load_.observe(yard_.now(), yard_.held_gpus());
    if (from == Phase::queued) --waiting_;
    if (to == Phase::queued) ++waiting_;
  }

  void save_learnt(Learnt& learnt) const { learnt["load"] = load_.numbers(yard_.now()); }
  void recall(const Learnt& learnt, Time now) {
    load_.begin(now);
    each_learnt(learnt, "load", [&](std::string_view, auto numbers) { load_.take(numbers); });
  }

  /// The jobs in the queue.
  [[nodiscard]] std::int64_t waiting() const { return waiting_; }
  [[nodiscard]] double per_second() const {
    constexpr double kMostLoad = 7.0 / 8;
    const double gpus = std::max(yard_.cluster().total_gpus, 1);
    const auto others = static_cast<double>(std::max<std::int64_t>(waiting_ - 1, 0));
    return others / (1 - std::min(load_.share(yard_.now(), gpus), kMostLoad)) / gpus;
  }

 private:
  const Yard& yard_;
  RecentLoad load_;
  std::int64_t waiting_ = 0;
};

}  // namespace trainyard
