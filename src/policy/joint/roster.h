// Who waits and who holds GPUs, as policies that decide for all jobs at once need it.
#pragma once

#include <algorithm>

#include "base/sorted_list.h"
#include "yard/yard.h"

namespace trainyard {

class Roster {
 public:
  explicit Roster(const Yard& yard) : yard_(yard) {}

  void on_phase(JobId job, Phase from, Phase to) {
    if (from == Phase::queued) waiting_.erase(job);
    if (to == Phase::queued) waiting_.insert(job);
    if (holds_gpus(from) == holds_gpus(to)) return;
    if (yard_.job(job).is_elastic()) elastic_ += holds_gpus(to) ? 1 : -1;
    if (holds_gpus(to)) {
      holding_.insert(job);
    } else {
      holding_.erase(job);
    }
  }

  [[nodiscard]] bool has_any() const { return !waiting_.empty() || !holding_.empty(); }
  /// By number, which is the order of submission.
  [[nodiscard]] const SortedList<JobId>& waiting() const { return waiting_; }
  [[nodiscard]] const SortedList<JobId>& holding() const { return holding_; }
  /// Of those that hold GPUs.
  [[nodiscard]] bool has_elastic() const { return elastic_ > 0; }

  /// Whether the job may be paused, or moved and resized, now, by the yard's rules and as its
  /// machines are.
  [[nodiscard]] bool may_be_paused(JobId job) const {
    return yard_.pausable_from(job, kNoJob) <= yard_.now() && is_up(job);
  }
  [[nodiscard]] bool may_be_moved(JobId job) const {
    return yard_.movable_from(job) <= yard_.now() && is_up(job);
  }

 private:
  [[nodiscard]] bool is_up(JobId job) const {
    return std::ranges::all_of(yard_.placement(job), [&](const Share& share) {
      return yard_.free().is_up(share.machine);
    });
  }

  const Yard& yard_;
  SortedList<JobId> waiting_, holding_;
  std::int64_t elastic_ = 0;
};

}  // namespace trainyard
