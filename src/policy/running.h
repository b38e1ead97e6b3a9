// The jobs that start or run, by when they are expected to end: shared by the stages that ask who
// leaves first (reservations) or who would stay longest (preemption by remaining time).
#pragma once

#include "base/grow.h"
#include "base/sorted_list.h"
#include "policy/job_at.h"
#include "yard/yard.h"

namespace trainyard {

class RunningByEnd {
 public:
  void on_phase(const Yard& yard, JobId job, Phase from, Phase to) {
    const bool was = is_listed(from), is = is_listed(to);
    if (!was && !is) return;
    grow_to(ends_of_, index(job), yard.workload().jobs.size());
    Time& end = ends_of_[index(job)];
    const Time new_end = is ? yard.expected_end(job) : end;
    if (was && is && new_end == end) return;
    if (was) ends_.erase({end, job});
    end = new_end;
    if (is) ends_.insert({end, job});
  }

  /// Its rate or its estimate has changed. True: it is listed, and its end is another by that.
  bool on_outlook(const Yard& yard, JobId job) {
    if (!is_listed(yard.state(job).phase)) return false;
    Time& end = ends_of_[index(job)];
    const Time new_end = yard.expected_end(job);
    if (new_end == end) return false;
    ends_.erase({end, job});
    end = new_end;
    ends_.insert({end, job});
    return true;
  }

  /// Of a job that is listed, or was until now.
  [[nodiscard]] Time end_of(JobId job) const { return ends_of_[index(job)]; }
  [[nodiscard]] const SortedList<JobAt>& ends() const { return ends_; }

 private:
  static bool is_listed(Phase phase) { return phase == Phase::starting || phase == Phase::running; }

  SortedList<JobAt> ends_;
  std::vector<Time> ends_of_;  // by job
};

}  // namespace trainyard
