// The work that there is: GPU time that the jobs which wait and run have left, by what is believed
// of it when they come to the queue and when they start.
#pragma once

#include <algorithm>
#include <vector>

#include "base/grow.h"
#include "policy/estimator.h"

namespace trainyard {

class Backlog {
 public:
  Backlog(const Yard& yard, const Estimator& estimates) : yard_(yard), estimates_(estimates) {}

  void on_phase(JobId job, Phase /*from*/, Phase to) {
    grow_to(parts_, index(job), yard_.workload().jobs.size());
    Part& part = parts_[index(job)];
    remove(part);
    const bool is_left = to == Phase::queued || to == Phase::reserved || holds_gpus(to);
    if (!is_left) return;
    part.gpus = yard_.job(job).gpus();
    part.shrinks = to == Phase::running;
    part.us = static_cast<double>(estimates_.remaining(job).us);
    if (part.shrinks) part.us += static_cast<double>(yard_.now().us);
    add(part);
  }

  /// How long all GPUs together need for what this job is believed to have left, as long as it is
  /// one of those.
  [[nodiscard]] Duration time_for(JobId job) const {
    if (index(job) >= parts_.size()) return {};
    const Part& part = parts_[index(job)];
    const double us = part.us - (part.shrinks ? static_cast<double>(yard_.now().us) : 0);
    return of_all(us * part.gpus);
  }

  /// How long all GPUs together need for it.
  [[nodiscard]] Duration time_for_all() const {
    return of_all(waiting_us_ + running_end_us_ -
                  static_cast<double>(yard_.now().us) * running_gpus_);
  }

 private:
  static constexpr double kMost = 9e18;

  [[nodiscard]] Duration of_all(double gpu_us) const {
    const double gpus = std::max(yard_.cluster().total_gpus, 1);
    return Duration{static_cast<std::int64_t>(std::clamp(gpu_us / gpus, 0.0, kMost))};
  }

  /// Of one job: its time left or, while it runs, when that is over.
  struct Part {
    double us = 0, gpus = 0;
    bool shrinks = false;
  };

  void add(const Part& part) {
    (part.shrinks ? running_end_us_ : waiting_us_) += part.us * part.gpus;
    if (part.shrinks) running_gpus_ += part.gpus;
  }
  void remove(Part& part) {
    add({part.us, -part.gpus, part.shrinks});
    part = {};
  }

  const Yard& yard_;
  const Estimator& estimates_;
  std::vector<Part> parts_;                                        // by job
  double waiting_us_ = 0, running_end_us_ = 0, running_gpus_ = 0;  // times GPUs
};

}  // namespace trainyard
