// The work that there is: GPU time that the jobs which wait and run have left, by what is believed
// of it now. One that has run for longer than anybody believed has none left.
#pragma once

#include <algorithm>
#include <vector>

#include "base/grow.h"
#include "base/sorted_list.h"
#include "policy/estimator.h"
#include "policy/job_at.h"

namespace trainyard {

class Backlog {
 public:
  Backlog(const Yard& yard, const Estimator& estimates) : yard_(yard), estimates_(estimates) {}

  void on_phase(JobId job, Phase /*from*/, Phase to) {
    grow_to(parts_, index(job), yard_.workload().jobs.size());
    set(job, to);
    go_on();
  }
  /// Something else is believed of the job, or it goes on at another rate.
  void renew(JobId job) {
    if (index(job) < parts_.size()) set(job, yard_.state(job).phase);
  }
  /// Time has passed: to be called before time_for_all().
  void go_on() {
    while (!ends_.empty() && ends_.front().at <= yard_.now()) remove(ends_.front().job);
  }

  /// How long all GPUs together need for what this job is believed to have left, as long as it is
  /// one of those.
  [[nodiscard]] Duration time_for(JobId job) const {
    if (index(job) >= parts_.size()) return {};
    const Part& part = parts_[index(job)];
    const std::int64_t us = part.us - (part.shrinks ? yard_.now().us : 0);
    return of_all(static_cast<double>(us) * part.gpus);
  }

  /// How long all GPUs together need for it.
  [[nodiscard]] Duration time_for_all() const {
    return of_all(waiting_us_ + running_end_us_ -
                  static_cast<double>(yard_.now().us) * running_gpus_);
  }

 private:
  static constexpr double kMost = 9e18;

  /// Of one job: its time left or, from its start on, when that is over.
  struct Part {
    std::int64_t us = 0;
    double gpus = 0;
    bool shrinks = false;

    bool operator==(const Part&) const = default;
  };

  [[nodiscard]] Duration of_all(double gpu_us) const {
    const double gpus = std::max(yard_.cluster().total_gpus, 1);
    return Duration{static_cast<std::int64_t>(std::clamp(gpu_us / gpus, 0.0, kMost))};
  }

  void set(JobId job, Phase phase) {
    const Part part = part_of(job, phase);
    if (part == parts_[index(job)]) return;
    remove(job);
    parts_[index(job)] = part;
    if (part.shrinks) ends_.insert({Time{part.us}, job});
    add(part);
  }
  /// As long as nothing is left for it to run on, it does not come nearer to its end.
  [[nodiscard]] Part part_of(JobId job, Phase phase) const {
    const bool is_left = phase == Phase::queued || phase == Phase::reserved || holds_gpus(phase);
    if (!is_left) return {};
    const double gpus = yard_.job(job).gpus();
    if (phase == Phase::starting || phase == Phase::running)
      if (const Duration left = estimates_.left_at(estimates_.rank(job)); left <= kLongestDuration)
        return {(yard_.now() + left).us, gpus, true};
    return {estimates_.remaining(job).us, gpus, false};
  }
  void remove(JobId job) {
    Part& part = parts_[index(job)];
    if (part.shrinks) ends_.erase({Time{part.us}, job});
    add({part.us, -part.gpus, part.shrinks});
    part = {};
  }
  void add(const Part& part) {
    (part.shrinks ? running_end_us_ : waiting_us_) += static_cast<double>(part.us) * part.gpus;
    if (part.shrinks) running_gpus_ += part.gpus;
  }

  const Yard& yard_;
  const Estimator& estimates_;
  std::vector<Part> parts_;                                        // by job
  SortedList<JobAt> ends_;                                         // of those whose parts shrink
  double waiting_us_ = 0, running_end_us_ = 0, running_gpus_ = 0;  // times GPUs
};

}  // namespace trainyard
