#include "perf/skew.h"

#include <gtest/gtest.h>

namespace trainyard {
namespace {

TEST(Skew, OneTensorOfMoreThanHalfTheModel) {
  for (const char* model : {"vgg19", "vgg16", "vgg11", "alexnet"})
    EXPECT_TRUE(is_skewed(model)) << model;
  for (const char* model : {"resnet152", "resnet101", "resnet50", "inception3", "inception4"})
    EXPECT_FALSE(is_skewed(model)) << model;
}

TEST(Skew, HoweverTheNameIsWritten) {
  EXPECT_TRUE(is_skewed("VGG-16"));
  EXPECT_TRUE(is_skewed("Vgg_16"));
  EXPECT_TRUE(is_skewed("AlexNet"));
  EXPECT_TRUE(is_skewed("VGG")) << "an alias of VGG-11";
}

TEST(Skew, UnknownModelsAreNot) {
  EXPECT_FALSE(is_skewed(""));
  EXPECT_FALSE(is_skewed("vgg17"));
  EXPECT_FALSE(is_skewed("my vgg16"));
}

}  // namespace
}  // namespace trainyard
