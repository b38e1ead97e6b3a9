#include "base/split.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace trainyard {
namespace {

using testing::ElementsAre;

TEST(Split, AnySeparatorEndsAPart) {
  EXPECT_THAT(split("a&b,c", "&,"), ElementsAre("a", "b", "c"));
}

TEST(Split, EmptyPartsCount) {
  EXPECT_THAT(split("", ","), ElementsAre(""));
  EXPECT_THAT(split(",a,,", ","), ElementsAre("", "a", "", ""));
}

}  // namespace
}  // namespace trainyard
