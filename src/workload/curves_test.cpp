#include "workload/curves.h"

#include <gtest/gtest.h>

namespace trainyard {
namespace {

Workload workload_of(const std::vector<std::string>& models) {
  Workload workload;
  for (const std::string& model : models) {
    Job& job = workload.jobs.emplace_back();
    if (!model.empty()) job.model = ModelId{static_cast<std::uint16_t>(workload.models.add(model))};
  }
  return workload;
}

TEST(Curves, AreThoseOfTheModels) {
  Workload workload = workload_of({"ResNet-18", "", "VGG-16", "no such model", "resnet18"});
  give_curves(Catalogue::builtin(), workload);
  const LearningCurve* curve = workload.curve(JobId{0});
  ASSERT_NE(curve, nullptr);
  EXPECT_NEAR(curve->share_to(0.95), 0.254, 1e-6);
  EXPECT_EQ(workload.curve(JobId{1}), nullptr) << "no model is named";
  EXPECT_EQ(workload.curve(JobId{2}), nullptr) << "the model has no curve";
  EXPECT_EQ(workload.curve(JobId{3}), nullptr) << "the model is not known";
  ASSERT_NE(workload.curve(JobId{4}), nullptr) << "the model has another name here";
  EXPECT_EQ(*workload.curve(JobId{4}), *curve);
}

TEST(Curves, OfTheJobItselfStay) {
  Workload workload = workload_of({"ResNet-18", "ResNet-18"});
  const LearningCurve own = *make_learning_curve(0.8, 0.1, 0.5);
  workload.curves = {own, {}};
  give_curves(Catalogue::builtin(), workload);
  EXPECT_EQ(*workload.curve(JobId{0}), own);
  EXPECT_NEAR(workload.curve(JobId{1})->share_to(0.95), 0.254, 1e-6);
}

TEST(Curves, AreNotAskedForWhereNoModelHasOne) {
  Workload workload = workload_of({"VGG-16", ""});
  give_curves(Catalogue::builtin(), workload);
  EXPECT_TRUE(workload.curves.empty());
}

}  // namespace
}  // namespace trainyard
