// How sensitive a job is to the network (Dally, Sharma et al.): the share of its time on GPUs that
// went into computing, so far. 1 is not sensitive at all, as every job of one GPU that has run; a
// job that has not run counts as 0, so that it goes first.
//
//   Nw_sens = (share of the iterations done) / (time on GPUs / ideal time) = work done / time run
#pragma once

#include <algorithm>
#include <cstdint>

#include "policy/time_run.h"

namespace trainyard {

class NetworkSensitivity {
 public:
  void on_phase(const Yard& yard, JobId job, Phase from, Phase to) {
    time_.on_phase(yard, job, from, to);
  }

  void save_learnt(const Yard& yard, Learnt& learnt) const { time_.save_learnt(yard, learnt); }
  void recall_jobs(const Yard& yard, const Learnt& learnt) { time_.recall_jobs(yard, learnt); }

  /// In kScale steps, 0 to kScale.
  [[nodiscard]] std::int64_t of(const Yard& yard, JobId job) const {
    const Duration ran = time_.of(yard, job);
    if (ran.us <= 0) return 0;
    if (yard.job(job).gpus() <= 1) return kScale;
    const double share = static_cast<double>(yard.work_done(job).us) / static_cast<double>(ran.us);
    return static_cast<std::int64_t>(std::min(std::max(share, 0.0), 1.0) * kScale);
  }

  static constexpr std::int64_t kScale = 10'000;

 private:
  TimeRun time_;
};

}  // namespace trainyard
