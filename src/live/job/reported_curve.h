// How a job's loss and accuracy went, as it told: for those who draw it, and for policies that
// favour the jobs that learn fastest. Kept in at most kMost points: when there are more, every
// other goes, and from then on only every second, fourth ... is taken, so that they stay evenly
// spread over the whole run.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/time.h"
#include "live/job/progress.h"
#include "model/learning_curve.h"

namespace trainyard {

class ReportedCurve {
 public:
  static constexpr std::size_t kMost = 128;

  struct Point {
    std::int64_t step = 0;
    Duration work;  // that the job had done by then
    std::optional<double> loss, accuracy;

    bool operator==(const Point&) const = default;
  };

  ReportedCurve() = default;
  ReportedCurve(std::vector<Point> points, std::uint32_t stride)
      : points_(std::move(points)), stride_(stride) {}

  /// A report with a loss or an accuracy, of a step beyond the last; others say nothing new. After
  /// a return to a checkpoint, steps are done again: what they said before is dropped.
  void add(const JobProgress& progress, Duration work) {
    if (!progress.loss && !progress.accuracy) return;
    while (!points_.empty() && points_.back().step > progress.step) points_.pop_back();
    if (!points_.empty() && points_.back().step == progress.step) return;
    if (skipped_ + 1 < stride_) {
      ++skipped_;
      return;
    }
    skipped_ = 0;
    points_.push_back({progress.step, work, progress.loss, progress.accuracy});
    if (points_.size() > kMost) halve();
  }

  [[nodiscard]] const std::vector<Point>& points() const { return points_; }
  [[nodiscard]] std::uint32_t stride() const { return stride_; }
  bool operator==(const ReportedCurve&) const = default;

 private:
  void halve() {
    for (std::size_t i = 0; 2 * i < points_.size(); ++i) points_[i] = points_[2 * i];
    points_.resize((points_.size() + 1) / 2);
    stride_ *= 2;
  }

  std::vector<Point> points_;
  std::uint32_t stride_ = 1;  // one of so many reports is taken
  std::uint32_t skipped_ = 0;
};

/// The curve as accuracies: those that were told, or, of a job that never told any, what part of
/// its first loss is gone. (So a loss of 0 is taken for the best there is.)
inline std::vector<LearningPoint> learning_points(const ReportedCurve& curve) {
  const auto has_accuracy = [](const ReportedCurve::Point& p) { return p.accuracy.has_value(); };
  const bool by_accuracy = std::ranges::any_of(curve.points(), has_accuracy);
  std::optional<double> first_loss;
  std::vector<LearningPoint> points;
  for (const ReportedCurve::Point& p : curve.points()) {
    const auto step = static_cast<double>(p.step);
    if (by_accuracy && p.accuracy) points.push_back({step, *p.accuracy});
    if (by_accuracy || !p.loss) continue;
    if (!first_loss) first_loss = p.loss;
    if (*first_loss > 0) points.push_back({step, (*first_loss - *p.loss) / *first_loss});
  }
  return points;
}

}  // namespace trainyard
