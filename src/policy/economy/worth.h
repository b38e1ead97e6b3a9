// What a second of a job's time is worth, and how wide a job is. Order, preemption and the rooms
// kept for trial jobs all compare jobs in these terms.
//
// The worth of a second by which a job ends later, in seconds of an ordinary job:
//
//   an ordinary job              1
//   a job that acts as trial     queue.trial_worth
//   a critical job               1e4: all other work could be done before it (critical_jobs.h)
//   an overdue job that goes first   1e6: it waited for too long (overdue.h)
//
// The width of a job is its GPUs, up to a 32nd of the cluster and at least 1. Time left x width is
// the service that a job takes from others. For narrow jobs GPUs are like a fluid, and to let the
// least service go first is best (Smith's rule). What a wide gang leaves behind is used in pieces
// that happen to fit, and the GPUs that it needs are free at once only if they are made free: to
// count all of its GPUs lets narrow jobs break it up again and again.
#pragma once

#include <algorithm>

#include "policy/economy/critical_jobs.h"
#include "policy/economy/overdue.h"
#include "policy/trial_rights.h"

namespace trainyard {

class Worth {
 public:
  static constexpr double kCritical = 1e4;
  static constexpr double kOverdue = 1e6;

  Worth(const Yard& yard, const TrialRights& rights, double trial, const CriticalJobs& critical,
        const Overdue& overdue)
      : yard_(yard), rights_(rights), trial_(trial), critical_(critical), overdue_(overdue) {
    for (const Machine& machine : yard.cluster().machines) {
      all_.gpus += machine.capacity.gpus;
      all_.milli_cpus += machine.capacity.milli_cpus;
      all_.memory_mib += machine.capacity.memory_mib;
    }
  }

  /// Of a job that acts as trial.
  [[nodiscard]] double trial() const { return trial_; }

  [[nodiscard]] double of(JobId job) const {
    return overdue_.any() && goes_first(job) ? kOverdue : unless_overdue(job);
  }
  /// What it would be if the job were not overdue. While a job waits this changes only when the job
  /// is queued anew, so that orders may go by it; an overdue job goes first in any order.
  [[nodiscard]] double unless_overdue(JobId job) const {
    if (trial_ != 1 && rights_.acts_as_trial(job)) return trial_;
    return critical_.is_critical(job) ? kCritical : 1;
  }

  [[nodiscard]] double width(JobId job) const {
    const Shape& shape = yard_.shape(job);
    double part = share(shape.per_worker.gpus, all_.gpus);
    part = std::max(part, share(shape.per_worker.milli_cpus, all_.milli_cpus));
    part = std::max(part, share(shape.per_worker.memory_mib, all_.memory_mib));
    return std::clamp(part * shape.workers * all_.gpus, 1.0, std::max(all_.gpus / 32, 1.0));
  }

 private:
  struct Amounts {
    double gpus = 0, milli_cpus = 0, memory_mib = 0;
  };

  [[nodiscard]] static double share(double amount, double all) {
    return amount == 0 ? 0 : amount / all;
  }
  [[nodiscard]] bool goes_first(JobId job) const {
    return overdue_.has_quantum(job) || overdue_.goes_first(job);
  }

  const Yard& yard_;
  const TrialRights& rights_;
  double trial_;
  const CriticalJobs& critical_;
  const Overdue& overdue_;
  Amounts all_;  // of the cluster
};

}  // namespace trainyard
