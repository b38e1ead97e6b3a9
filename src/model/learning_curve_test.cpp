#include "model/learning_curve.h"

#include <gtest/gtest.h>

#include <cmath>

namespace trainyard {
namespace {

TEST(LearningCurve, IsAHyperbolaOfTheShareOfTheWork) {
  const LearningCurve curve{.formula = {1, 9, 1}};
  EXPECT_DOUBLE_EQ(curve.at(0), 0);
  EXPECT_DOUBLE_EQ(curve.at(1.0 / 9), 0.5);
  EXPECT_DOUBLE_EQ(curve.converged(), 0.9);
  EXPECT_NEAR(curve.share_to(0.95), 0.655, 0.001);
  EXPECT_DOUBLE_EQ(curve.at(curve.share_to(0.95)), 0.95 * 0.9);
  EXPECT_DOUBLE_EQ(curve.share_to(0), 0);
  EXPECT_DOUBLE_EQ(curve.share_to(1), 1);
}

TEST(LearningCurve, OneThatIsFlatOrNeverSetHasNoInfinities) {
  EXPECT_FALSE(LearningCurve{}.is_known());
  const Hyperbola flat{.limit = 1, .slope = 0, .offset = 2};
  EXPECT_EQ(flat.where(0.4), 0);
  EXPECT_TRUE(std::isinf(flat.where(0.6)));
  EXPECT_EQ(LearningCurve{.formula = flat}.share_to(0.95), 0);
}

TEST(LearningCurve, IsMadeFromWhereItBeginsAndWhenItIsNearlyThere) {
  for (const double start : {0.0, 0.1, 0.3})
    for (const double to_95 : {0.1, 0.3, 0.5}) {
      const auto curve = make_learning_curve(0.9, start, to_95);
      ASSERT_TRUE(curve) << curve.error().message;
      EXPECT_NEAR(curve->at(0), start, 1e-9);
      EXPECT_NEAR(curve->share_to(0.95), to_95, 1e-9);
      EXPECT_LT(curve->converged(), 0.9);
    }
}

TEST(LearningCurve, ThereIsNoneThatBeginsTooWell) {
  EXPECT_FALSE(make_learning_curve(0.9, 0.95, 0.3));
  EXPECT_FALSE(make_learning_curve(0.9, 0.89, 0.9));
  EXPECT_FALSE(make_learning_curve(0.9, 0.1, 0));
  EXPECT_FALSE(make_learning_curve(0.9, 0.1, 1));
  EXPECT_FALSE(make_learning_curve(0.9, 0, 0.97));
  EXPECT_FALSE(make_learning_curve(std::nan(""), 0, 0.3));
}

TEST(LearningCurve, AMeasuredOneIsStraightBetweenItsPoints) {
  const LearningCurve curve{.measured = {{0.1, 0.2}, {0.3, 0.6}, {0.5, 0.5}, {1, 0.8}}};
  EXPECT_DOUBLE_EQ(curve.at(0), 0.2);
  EXPECT_DOUBLE_EQ(curve.at(0.2), 0.4);
  EXPECT_DOUBLE_EQ(curve.at(0.4), 0.55);
  EXPECT_DOUBLE_EQ(curve.converged(), 0.8);
  EXPECT_DOUBLE_EQ(curve.limit(), 0.8);
  EXPECT_DOUBLE_EQ(curve.share_to(0.1), 0);
  EXPECT_DOUBLE_EQ(curve.share_to(0.5), 0.2) << "0.4 is reached there first";
  EXPECT_DOUBLE_EQ(curve.share_to(1), 1);
}

}  // namespace
}  // namespace trainyard
