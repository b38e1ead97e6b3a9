#include "study/study.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace trainyard {
namespace {

std::string with_key(const std::string& workload, const std::string& key,
                     const std::string& value) {
  Condition condition{"base", workload, "", {}};
  workload_key(key)(condition, value);
  return condition.workload;
}

TEST(Study, AWorkloadKeyIsSetWhereItStandsOrAdded) {
  EXPECT_EQ(with_key("g:a=1,b=2,c=3", "b", "9"), "g:a=1,b=9,c=3");
  EXPECT_EQ(with_key("g:a=1", "a", "9"), "g:a=9");
  EXPECT_EQ(with_key("g:ab=1", "a", "9"), "g:ab=1,a=9") << "no part of another key";
  EXPECT_EQ(with_key("g:", "a", "9"), "g:a=9");
  EXPECT_EQ(with_key("g", "a", "9"), "g:a=9");
  EXPECT_EQ(with_key("g:gpus=1:0.5/2:0.5,a=1", "a", "9"), "g:gpus=1:0.5/2:0.5,a=9");
}

TEST(Study, ASettingIsThatOfTheNamedPoliciesAlone) {
  Condition condition{
      "base", "", "", {{"x", "fifo"}, {"y", "fifo", {"a.b=1", "a.c=2"}}, {"z", "las"}}};
  policy_setting({"x", "y"}, "a.b")(condition, "7");
  EXPECT_EQ(condition.policies[0].settings, std::vector<std::string>{"a.b=7"});
  EXPECT_EQ(condition.policies[1].settings, (std::vector<std::string>{"a.b=7", "a.c=2"}));
  EXPECT_TRUE(condition.policies[2].settings.empty());
  EXPECT_THROW(policy_setting({"w"}, "a.b")(condition, "7"), std::logic_error);
}

TEST(Study, AMapGoesThroughAllPairsRowByRow) {
  const Sweep sweep = map_sweep("Map", {"a", workload_key("a"), {"1", "2"}},
                                {"b", workload_key("b"), {"3", "4"}}, {}, {"m"});
  EXPECT_EQ(sweep.axis, "a / b");
  EXPECT_EQ(sweep.values, (std::vector<std::string>{"1 / 3", "1 / 4", "2 / 3", "2 / 4"}));
  Condition condition{"base", "g:a=0,b=0", "", {}};
  sweep.change(condition, "2 / 3");
  EXPECT_EQ(condition.workload, "g:a=2,b=3");
  EXPECT_EQ(sweep.map->columns, (std::vector<std::string>{"3", "4"}));
}

TEST(Study, AnOutcomeKnowsItsPoliciesAndTheirMetrics) {
  const Metrics metrics{{"jct_s.mean", 7}};
  const Outcome outcome({{"fifo", &metrics}});
  EXPECT_EQ(outcome.metric("fifo", "jct_s.mean"), 7);
  EXPECT_THROW((void)outcome.metric("lifo", "jct_s.mean"), std::logic_error);
  EXPECT_THROW((void)outcome.metric("fifo", "jct_s.median"), std::logic_error);
}

}  // namespace
}  // namespace trainyard
