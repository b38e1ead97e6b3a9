#include <gtest/gtest.h>

#include "policy/registry.h"
#include "policy/testing.h"

namespace trainyard {
namespace {

TEST(AdaDual, RanksByRemainingServiceAndAsksForAdmission) {
  HandYard h("4x4xV100");
  const auto policy = PolicySpec::parse("ada-srsf", {})->build(h.yard, 1, FlowClasses::carried_out);
  const FlowRules rules = policy->flow_rules();
  EXPECT_EQ(rules.at_most, 2);
  EXPECT_TRUE(rules.by_size);
  h.submit(gang(8, 1, hours(2)));
  h.submit(gang(8, 1, hours(1)));
  Plan plan(h.yard);
  policy->decide(plan);
  EXPECT_EQ(h.yard.flow(JobId{1}), FlowClass{0}) << "8 GPU hours";
  EXPECT_EQ(h.yard.flow(JobId{0}), FlowClass{1}) << "16";
}

TEST(AdaDual, TheBaselinesAskOnlyForANumber) {
  HandYard h("1x4xV100");
  const auto rules = [&](const char* preset) {
    return PolicySpec::parse(preset, {})->build(h.yard, 1, FlowClasses::carried_out)->flow_rules();
  };
  EXPECT_EQ(rules("srsf-1"), (FlowRules{.at_most = 1}));
  EXPECT_EQ(rules("srsf-2"), (FlowRules{.at_most = 2}));
  EXPECT_EQ(rules("lwf"), FlowRules{});
}

}  // namespace
}  // namespace trainyard
