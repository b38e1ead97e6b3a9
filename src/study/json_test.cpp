#include "study/json.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "study/schema_checker.h"
#include "study/testing.h"

namespace trainyard {
namespace {

using nlohmann::ordered_json;

/// Every name of a property in a schema, at any depth.
void property_names(const ordered_json& schema, std::set<std::string>& names) {
  if (!schema.is_structured()) return;
  for (const auto& [keyword, inner] : schema.items()) {
    if (keyword == "properties")
      for (const auto& property : inner.items()) names.insert(property.key());
    property_names(inner, names);
  }
}

std::size_t count_numbers(const ordered_json& json) {
  if (json.is_number()) return 1;
  std::size_t sum = 0;
  if (json.is_structured())
    for (const auto& inner : json) sum += count_numbers(inner);
  return sum;
}

TEST(Json, ARunFollowsTheSchema) {
  SchemaChecker check("sim.json");
  EXPECT_EQ(check(to_json(sample_run("fifo", 1).result)), Problems{});
  EXPECT_EQ(check(to_json(Result{})), Problems{}) << "a run without jobs";
}

TEST(Json, TheCheckerSeesAMissingAWrongAndAnUnknownField) {
  SchemaChecker check("sim.json");
  ordered_json json = to_json(Result{});
  json.erase("seed");
  json["jobs"] = 1.5;
  json["by_class"]["trial"]["extra"] = 1;
  json["gpu_utilization"] = 1.01;
  EXPECT_EQ(check(json).size(), 4U);
}

TEST(Json, AComparisonFollowsTheSchema) {
  SchemaChecker check("compare.json");
  EXPECT_EQ(check(to_json(sample_comparison({"fifo", "fitgpp"}, {1, 2, 3}))), Problems{});
  EXPECT_EQ(check(to_json(Comparison{})), Problems{});
}

LowerBound sample_bound() {
  return {3, 20, 10, {{0, 5, 9}, {0.5, 0.25}}};
}

TEST(Json, LowerBoundsFollowTheSchema) {
  SchemaChecker check("bound.json");
  const BoundRuns runs{"trace", "cluster", {1, 7}, {sample_bound(), sample_bound()}};
  const ordered_json json = to_json(runs);
  EXPECT_EQ(check(json), Problems{});
  EXPECT_EQ(json["bounds"][1]["seed"], 7);
  EXPECT_EQ(json["intervals"]["mean_jct_s"]["mean"], 20);
  const ordered_json price{{"from_s", {0, 5, 9}}, {"price", {0.5, 0.25, 0}}};
  EXPECT_EQ(json["bounds"][0]["gpu_price"], price);
  EXPECT_EQ(check(to_json(BoundRuns{"trace", "cluster", {1}, {LowerBound{}}})), Problems{})
      << "no jobs";
}

TEST(Json, AComparisonHasItsBounds) {
  Comparison comparison = sample_comparison({"fifo"}, {1, 7});
  EXPECT_FALSE(to_json(comparison).contains("bounds"));
  comparison.bounds = {sample_bound(), sample_bound()};
  EXPECT_EQ(SchemaChecker("compare.json")(to_json(comparison)), Problems{});
  EXPECT_EQ(to_json(comparison)["bounds"][1]["seed"], 7);
}

TEST(Json, ThePageOnOutputNamesEveryField) {
  const std::string page = read_text("docs/output.md");
  std::set<std::string> names;
  for (const char* file :
       {"sim.json", "compare.json", "study.json", "bound.json", "lower_bound.json"})
    property_names(ordered_json::parse(read_text(std::string("docs/schema/") + file)), names);
  EXPECT_GT(names.size(), 25U);
  for (const std::string& name : names)
    EXPECT_NE(page.find("`" + name + "`"), std::string::npos) << name;
}

TEST(Json, FieldsKeepTheirOrder) {
  std::string keys;
  const ordered_json json = to_json(Result{});
  for (const auto& field : json.items()) keys += field.key() + " ";
  EXPECT_EQ(
      keys,
      "policy jobs finished makespan_s jct_s wait_s slowdown by_class pause_costs preemptions "
      "paused_jobs away_s pause_gain_s lost_gpu_s failures slowed_gpu_s slowed_mean_s placements "
      "gpu_utilization "
      "fairness_jain "
      "events decisions "
      "decision_us wall_s "
      "events_per_s jobs_per_s seed ");
}

TEST(Json, EveryNumberOfARunHasAnInterval) {
  const ordered_json json = to_json(sample_comparison({"fifo"}, {1, 2}));
  EXPECT_EQ(json["intervals"]["fifo"].size(), count_numbers(json["results"][0]) - 1)
      << "all but the seed";
}

TEST(Json, IntervalsAreStudents) {
  Comparison comparison = sample_comparison({"fifo"}, {1, 2, 3});
  for (std::size_t i = 0; i < 3; ++i)
    comparison.policies[0].runs[i].result.all.jct_s.mean = 10 + static_cast<double>(i);
  const ordered_json interval = to_json(comparison)["intervals"]["fifo"]["jct_s.mean"];
  // Mean 11, deviation 1, t = 4.303 with two degrees of freedom: 4.303 / sqrt(3) = 2.4843.
  EXPECT_DOUBLE_EQ(interval["mean"], 11);
  EXPECT_NEAR(interval["low"], 11 - 2.4843, 1e-4);
  EXPECT_NEAR(interval["high"], 11 + 2.4843, 1e-4);
}

TEST(Json, OneSeedHasAnIntervalOfNoWidth) {
  const ordered_json json = to_json(sample_comparison({"fifo"}, {7}));
  const ordered_json interval = json["intervals"]["fifo"]["makespan_s"];
  EXPECT_EQ(interval["low"], interval["mean"]);
  EXPECT_EQ(interval["high"], interval["mean"]);
  EXPECT_EQ(interval["mean"], json["results"][0]["makespan_s"]);
}

TEST(Json, TheLargestSeedIsExact) {
  Result result;
  result.seed = ~0ULL;
  EXPECT_NE(to_text(to_json(result)).find("\"seed\": 18446744073709551615"), std::string::npos);
}

TEST(Json, BytesThatAreNotUtf8AreReplaced) {
  Result result;
  result.policy =
      "a\xff"
      "b";
  EXPECT_TRUE(to_text(to_json(result))
                  .find("a\xEF\xBF\xBD"
                        "b") != std::string::npos);
}

}  // namespace
}  // namespace trainyard
