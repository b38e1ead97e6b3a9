// How sensitive a job is to the network (Dally, Sharma et al.): the share of its time on GPUs that
// went into computing, so far. 1 is not sensitive at all; a job that has not run counts as 0, so
// that it goes first, and a job of one GPU as 1.
//
//   Nw_sens = (share of the iterations done) / (time on GPUs / ideal time) = work done / time run
#pragma once

#include <cstdint>
#include <vector>

#include "base/grow.h"
#include "yard/yard.h"

namespace trainyard {

class NetworkSensitivity {
 public:
  void on_phase(const Yard& yard, JobId job, Phase from, Phase to) {
    if (from != Phase::running && to != Phase::running) return;
    grow_to(runs_, index(job), yard.workload().jobs.size());
    Runs& runs = runs_[index(job)];
    if (from == Phase::running) runs.ran += yard.now() - runs.since;
    if (to == Phase::running) runs.since = yard.now();
  }

  /// In kScale steps, 0 to kScale.
  [[nodiscard]] std::int64_t of(const Yard& yard, JobId job) const {
    if (yard.job(job).gpus() <= 1) return kScale;
    if (index(job) >= runs_.size()) return 0;
    const JobState& state = yard.state(job);
    Duration ran = runs_[index(job)].ran;
    if (state.phase == Phase::running) ran += yard.now() - state.since;
    if (ran.us <= 0) return 0;
    const double share = static_cast<double>(yard.work_done(job).us) / static_cast<double>(ran.us);
    return static_cast<std::int64_t>(std::min(std::max(share, 0.0), 1.0) * kScale);
  }

  static constexpr std::int64_t kScale = 10'000;

 private:
  struct Runs {
    Duration ran;  // in runs that are over
    Time since;
  };
  std::vector<Runs> runs_;  // by job
};

}  // namespace trainyard
