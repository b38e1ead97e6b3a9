// From what a job tells of its learning to the curve that it follows,
//
//   acc(x) = A - 1 / (a x + b)    with a >= 0 and b > 0, x in steps,
//
// the form that JPAS fits (docs/policies.md). With c = 1/b and s = b/a it reads
//
//   acc(x) = A - c / (1 + x/s)
//
// where c is how much there is to learn and s the step by which half of it is learnt: for one s the
// best A and c follow from a linear equation. So a coarse search over s finds where to begin, and
// Levenberg-Marquardt (Eigen's) ends it. Reports are noisy and some are absurd: each round weighs a
// point the less the further it lies from the curve of the round before (Cauchy's loss, in units of
// the median residual). Newer points count up to twice as much as older ones, as no job follows the
// form exactly and what comes next matters.
//
// Accuracies that are all at most 1 are taken for shares: then A is at most 1, too. What does not
// rise has the curve that is level at its mean. All of it is finite, whatever was told.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "model/learning_curve.h"

namespace trainyard {

/// The points that a job told, a bounded number of them: where there are more, that goes which is
/// whose neighbours are closest to each other, for the step they are at. So there are many where
/// the curve bends, early, and their distance grows with the steps. (To merge points would average
/// noise, but makes of one outlier many points that are a little wrong.)
class CurvePoints {
 public:
  static constexpr std::size_t kMost = 48;

  /// A step that was told before is done again, after a return to a checkpoint: what was told from
  /// there on is forgotten. Takes finite values only.
  void add(const LearningPoint& point);

  [[nodiscard]] std::span<const LearningPoint> points() const { return points_; }
  [[nodiscard]] std::size_t size() const { return points_.size(); }
  [[nodiscard]] double last_step() const { return points_.empty() ? 0 : points_.back().step; }

 private:
  std::vector<LearningPoint> points_;  // by step, ascending
};

/// Fewer points say nothing of a curve that has three unknowns.
constexpr std::size_t kFewestPoints = 3;

/// Nothing where there are too few points.
std::optional<Hyperbola> fit_curve(const CurvePoints& told);

}  // namespace trainyard
