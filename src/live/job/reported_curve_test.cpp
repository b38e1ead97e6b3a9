#include "live/job/reported_curve.h"

#include <gtest/gtest.h>

namespace trainyard {
namespace {

JobProgress at(std::int64_t step, std::optional<double> loss) {
  JobProgress progress;
  progress.step = step;
  progress.loss = loss;
  return progress;
}

TEST(ReportedCurve, KeepsWhatWasTold) {
  ReportedCurve curve;
  curve.add(at(1, 0.9), seconds(1));
  curve.add(at(1, 0.9), seconds(2));  // the same again
  curve.add(at(2, {}), seconds(3));   // says nothing of learning
  curve.add(at(3, 0.5), seconds(4));
  ASSERT_EQ(curve.points().size(), 2U);
  EXPECT_EQ(curve.points()[1].step, 3);
  EXPECT_EQ(curve.points()[1].work, seconds(4));
}

TEST(ReportedCurve, StepsDoneAgainReplaceWhatTheySaid) {
  ReportedCurve curve;
  for (int step = 1; step <= 10; ++step) curve.add(at(step, 1.0 / step), seconds(step));
  curve.add(at(4, 0.2), seconds(11));
  ASSERT_EQ(curve.points().size(), 4U);
  EXPECT_EQ(curve.points().back().step, 4);
}

TEST(ReportedCurve, LongOnesAreThinnedEvenly) {
  ReportedCurve curve;
  for (int step = 1; step <= 100'000; ++step) curve.add(at(step, 1.0), seconds(step));
  const auto& points = curve.points();
  ASSERT_GT(points.size(), ReportedCurve::kMost / 2);
  ASSERT_LE(points.size(), ReportedCurve::kMost);
  EXPECT_EQ(points.front().step, 1);
  EXPECT_GT(points.back().step, 98'000);
  const std::int64_t gap = points[1].step - points[0].step;
  for (std::size_t i = 1; i < points.size(); ++i)
    EXPECT_EQ(points[i].step - points[i - 1].step, gap) << i;
}

TEST(ReportedCurve, LossIsTakenForAccuracyWhereNoneIsTold) {
  ReportedCurve curve;
  for (const auto& [step, loss] : {std::pair{1, 2.0}, {2, 1.0}, {3, 0.5}})
    curve.add(at(step, loss), seconds(step));
  EXPECT_EQ(learning_points(curve), (std::vector<LearningPoint>{{1, 0}, {2, 0.5}, {3, 0.75}}));
  JobProgress epoch = at(4, 0.4);
  epoch.accuracy = 0.6;
  curve.add(epoch, seconds(4));
  EXPECT_EQ(learning_points(curve), (std::vector<LearningPoint>{{4, 0.6}}));
}

TEST(ReportedCurve, ALossThatBeginsAtNothingSaysNothing) {
  ReportedCurve curve;
  curve.add(at(1, 0.0), seconds(1));
  curve.add(at(2, 0.5), seconds(2));
  EXPECT_TRUE(learning_points(curve).empty());
}

}  // namespace
}  // namespace trainyard
