// What is known of how jobs learn, for orders that go by it: the curves that fit what jobs tell, or
// the true ones of the workload.
//
// Time is that of a job that has the network to itself: it goes as fast as the engine says of its
// placement, not as it goes now. So a job that others starve does not look slow to learn. Steps
// and work go together: what a job had done when it last told a step says how many there are in a
// second of work.
#pragma once

#include <unordered_map>

#include "perf/curve_fit.h"
#include "yard/yard.h"

namespace trainyard {

/// A job's curve, seen from now.
class Prospect {
 public:
  Prospect(const Hyperbola& fit, double steps, double steps_per_s)
      : fit_(fit), x_(steps), per_s_(steps_per_s), steps_per_s_(steps_per_s) {}
  Prospect(const LearningCurve& truth, double share, double share_per_s, double steps)
      : truth_(&truth), x_(share), per_s_(share_per_s), steps_per_s_(steps * share_per_s) {}

  /// The accuracy after so many more seconds.
  [[nodiscard]] double after(double seconds) const;
  /// What it tends to.
  [[nodiscard]] double limit() const { return truth_ != nullptr ? truth_->limit() : fit_.limit; }
  /// Seconds until it reaches this part of the accuracy that it will have after `left` seconds; 0
  /// when it has, and infinite when it never will.
  [[nodiscard]] double seconds_to(double fraction, double left) const;
  [[nodiscard]] double steps_per_s() const { return steps_per_s_; }

 private:
  Hyperbola fit_;
  const LearningCurve* truth_ = nullptr;
  double x_;  // where it is: in steps, or as a share of its work
  double per_s_, steps_per_s_;
};

class Learning {
 public:
  Learning(const Yard& yard, bool knows_truth) : yard_(yard), knows_truth_(knows_truth) {}

  void on_phase(JobId job, Phase to);
  void on_learnt(JobId job, const LearningPoint& point);

  /// Nothing where no curve is known: the job has told too few points, or the workload has none.
  [[nodiscard]] std::optional<Prospect> of(JobId job) const;
  /// The last step that it told; 0: none.
  [[nodiscard]] double last_step(JobId job) const;
  /// Uncontended, of the last place that it had: time for a unit of work.
  [[nodiscard]] double time_per_work(JobId job) const;

 private:
  struct Told {
    CurvePoints points;
    double steps_per_work = 0;  // in a second of work
    mutable std::optional<Hyperbola> fit;
    mutable bool has_news = false;  // since it was fitted
  };

  const Yard& yard_;
  bool knows_truth_;
  std::unordered_map<JobId, Told> told_;             // of jobs that have not ended
  std::unordered_map<JobId, double> time_per_work_;  // of those that hold GPUs
};

}  // namespace trainyard
