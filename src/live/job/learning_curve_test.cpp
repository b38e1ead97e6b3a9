#include "live/job/learning_curve.h"

#include <gtest/gtest.h>

namespace trainyard {
namespace {

JobProgress at(std::int64_t step, std::optional<double> loss) {
  JobProgress progress;
  progress.step = step;
  progress.loss = loss;
  return progress;
}

TEST(LearningCurve, KeepsWhatWasTold) {
  LearningCurve curve;
  curve.add(at(1, 0.9), seconds(1));
  curve.add(at(1, 0.9), seconds(2));  // the same again
  curve.add(at(2, {}), seconds(3));   // says nothing of learning
  curve.add(at(3, 0.5), seconds(4));
  ASSERT_EQ(curve.points().size(), 2U);
  EXPECT_EQ(curve.points()[1].step, 3);
  EXPECT_EQ(curve.points()[1].work, seconds(4));
}

TEST(LearningCurve, StepsDoneAgainReplaceWhatTheySaid) {
  LearningCurve curve;
  for (int step = 1; step <= 10; ++step) curve.add(at(step, 1.0 / step), seconds(step));
  curve.add(at(4, 0.2), seconds(11));
  ASSERT_EQ(curve.points().size(), 4U);
  EXPECT_EQ(curve.points().back().step, 4);
}

TEST(LearningCurve, LongOnesAreThinnedEvenly) {
  LearningCurve curve;
  for (int step = 1; step <= 100'000; ++step) curve.add(at(step, 1.0), seconds(step));
  const auto& points = curve.points();
  ASSERT_GT(points.size(), LearningCurve::kMost / 2);
  ASSERT_LE(points.size(), LearningCurve::kMost);
  EXPECT_EQ(points.front().step, 1);
  EXPECT_GT(points.back().step, 98'000);
  const std::int64_t gap = points[1].step - points[0].step;
  for (std::size_t i = 1; i < points.size(); ++i)
    EXPECT_EQ(points[i].step - points[i - 1].step, gap) << i;
}

}  // namespace
}  // namespace trainyard
