// When jobs had learnt how much: the instants at which each reached 90% and 95% of its converged
// accuracy, by its true curve, and the accuracy of all over time. What jobs report is noisy; how
// far they are is not, and between two reports they go on evenly.
#pragma once

#include <vector>

#include "sim/result.h"
#include "yard/yard.h"

namespace trainyard {

class LearningTimes final : public YardListener {
 public:
  explicit LearningTimes(const Yard& yard) : yard_(yard) {}

  void on_phase(JobId job, Phase from, Phase to) override;
  void on_learnt(JobId job, const LearningPoint& point) override;

  /// Of the jobs that are done.
  [[nodiscard]] LearningResult result() const;

 private:
  struct Mark {
    Time at;
    double share = 0;  // of the work
  };
  struct Course {
    std::vector<Mark> marks;  // by time
    double alone = 1;         // time for a unit of work where it ran first, with nobody beside it
  };

  Course& course(JobId job);
  [[nodiscard]] static Time when(const Course& course, double share);
  [[nodiscard]] static double share_at(const Course& course, Time time);
  void add_series(const std::vector<JobId>& jobs, LearningResult& result) const;

  const Yard& yard_;
  std::vector<Course> courses_;  // by job
};

}  // namespace trainyard
