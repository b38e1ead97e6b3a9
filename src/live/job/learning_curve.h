// How a job's loss and accuracy went, as it told: for those who draw it, and for policies that give
// to whom learns fastest. Kept in at most kMost points: when there are more, every other goes, and
// from then on only every second, fourth ... is taken, so that they stay evenly spread over the
// whole run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/time.h"
#include "live/job/progress.h"

namespace trainyard {

class LearningCurve {
 public:
  static constexpr std::size_t kMost = 128;

  struct Point {
    std::int64_t step = 0;
    Duration work;  // that the job had done by then
    std::optional<double> loss, accuracy;

    bool operator==(const Point&) const = default;
  };

  LearningCurve() = default;
  LearningCurve(std::vector<Point> points, std::uint32_t stride)
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
  bool operator==(const LearningCurve&) const = default;

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

}  // namespace trainyard
