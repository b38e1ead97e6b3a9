// How well a job has learnt, by how much of its work is done.
//
//   acc(x) = A - 1 / (a x + b)
//
// where x is the share of the work, 0 to 1: the accuracy begins at A - 1/b, rises ever more slowly
// and would come to A if the job went on for ever. What counts as converged is the accuracy at the
// end of the run, acc(1), not A. Example: A = 1, a = 9, b = 1 begins at 0, is at 0.5 after a ninth
// of the work, and ends at 0.9; 95% of that, 0.855, are reached after 0.655 of the work.
//
// A curve may be measured instead: a table of points, straight in between.
#pragma once

#include <vector>

#include "base/error.h"

namespace trainyard {

/// What a job that runs tells of itself.
struct LearningPoint {
  double step = 0;  // iterations done, of whatever the job counts
  double accuracy = 0;

  bool operator==(const LearningPoint&) const = default;
};

/// acc(x) = limit - 1 / (slope x + offset), for any unit of x; slope >= 0, offset > 0.
struct Hyperbola {
  double limit = 0;
  double slope = 0;
  double offset = 1;

  [[nodiscard]] double at(double x) const { return limit - 1 / (slope * x + offset); }
  /// Where it reaches this accuracy; infinite if it never does, and less than 0 if it begins above.
  [[nodiscard]] double where(double accuracy) const;

  bool operator==(const Hyperbola&) const = default;
};

struct LearningCurve {
  struct Sample {
    double share = 0;  // of the work, 0 to 1
    double accuracy = 0;

    bool operator==(const Sample&) const = default;
  };

  Hyperbola formula = {};
  std::vector<Sample> measured = {};  // by share, ascending; if there are any, they are the curve

  /// At this share of the work, 0 to 1. A measured curve is level before its first point and after
  /// its last.
  [[nodiscard]] double at(double share) const;
  [[nodiscard]] double converged() const { return at(1); }
  /// What the accuracy is counted against: A, or where a measured curve ends.
  [[nodiscard]] double limit() const { return measured.empty() ? formula.limit : converged(); }
  /// The share of the work after which this part of the converged accuracy is first reached.
  [[nodiscard]] double share_to(double fraction) const;
  /// Whether it says anything: a curve that was never set does not.
  [[nodiscard]] bool is_known() const { return !measured.empty() || formula.slope > 0; }

  bool operator==(const LearningCurve&) const = default;
};

/// The curve that begins at `start`, has the limit `limit`, and reaches 95% of its converged
/// accuracy after the share `to_95` of the work. There is none where the start is too good for
/// that.
Expected<LearningCurve> make_learning_curve(double limit, double start, double to_95);

}  // namespace trainyard
