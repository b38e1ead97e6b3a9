#include "policy/registry.h"

#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>

#include "yard/testing.h"

namespace trainyard {
namespace {

std::string error_of(std::string_view text, const std::vector<std::string>& settings = {}) {
  const auto spec = PolicySpec::parse(text, settings);
  return spec ? "" : spec.error().message;
}

/// Builds it and has it decide once with a job in the queue.
void expect_works(const PolicySpec& spec) {
  HandYard h("2x4xV100");
  const auto policy = spec.build(h.yard, 1, FlowClasses::carried_out);
  const JobId job = h.submit(gang(4));
  Plan plan(h.yard);
  policy->decide(plan);
  EXPECT_EQ(h.phase(job), Phase::starting) << spec.name();
  EXPECT_EQ(plan.refused(), 0U);
}

TEST(Registry, EveryPresetParsesAndWorks) {
  for (const Preset& preset : presets()) {
    const auto spec = PolicySpec::parse(preset.name);
    ASSERT_TRUE(spec) << spec.error().message;
    EXPECT_EQ(spec->name(), preset.name);
    EXPECT_FALSE(preset.summary.empty());
    EXPECT_FALSE(preset.source.empty());
    expect_works(*spec);
  }
}

TEST(Registry, EveryMemberOfEveryStageCanBeNamedAndWorks) {
  for (const StageInfo& stage : stage_infos()) {
    EXPECT_FALSE(stage.question.empty());
    for (const MemberInfo& member : stage.members) {
      const auto spec = PolicySpec::parse(fmt::format("{}={}", stage.name, member.name));
      ASSERT_TRUE(spec) << spec.error().message;
      EXPECT_EQ(spec->member(stage.name), member.name);
      EXPECT_FALSE(member.summary.empty()) << member.name;
      EXPECT_FALSE(member.source.empty()) << member.name;
      expect_works(*spec);
    }
  }
}

TEST(Registry, EveryDefaultIsAValidValue) {
  for (const StageInfo& stage : stage_infos())
    for (const MemberInfo& member : stage.members)
      for (const ParamSpec& param : member.params) {
        const auto checked = check_param(param, param.default_value);
        EXPECT_TRUE(checked) << stage.name << '.' << param.name << ": " << checked.error().message;
        EXPECT_FALSE(param.help.empty());
      }
}

TEST(Registry, NamesAreUnique) {
  std::set<std::string> names;
  for (const Preset& preset : presets()) EXPECT_TRUE(names.insert(preset.name).second);
  for (const StageInfo& stage : stage_infos()) {
    std::set<std::string> members;
    for (const MemberInfo& member : stage.members)
      EXPECT_TRUE(members.insert(member.name).second) << member.name;
  }
}

TEST(Registry, WhatALineLeavesOutIsFilledIn) {
  const auto spec = PolicySpec::parse("order=srtf");
  ASSERT_TRUE(spec);
  EXPECT_EQ(spec->member("order"), "srtf");
  EXPECT_EQ(spec->member("backfill"), "none");
  EXPECT_EQ(spec->member("place"), "first-fit");
  EXPECT_EQ(spec->member("preempt"), "none");
  EXPECT_EQ(spec->member("flow"), "fair");
  EXPECT_EQ(spec->rules().min_run, minutes(1));
  EXPECT_EQ(spec->rules().turn, hours(1));
  EXPECT_EQ(spec->rules().max_pauses, 100'000U);
}

TEST(Registry, SettingsOverrideAPreset) {
  const auto spec = PolicySpec::parse(
      "tiresias", {"place.wait_for=none", "yard.min_run=5m", "backfill=easy", "yard.max_pauses=3"});
  ASSERT_TRUE(spec) << spec.error().message;
  EXPECT_EQ(spec->name(),
            "tiresias place.wait_for=none yard.min_run=5m backfill=easy yard.max_pauses=3");
  EXPECT_EQ(spec->params("place").choice("wait_for"), "none");
  EXPECT_EQ(spec->member("backfill"), "easy");
  EXPECT_EQ(spec->member("order"), "las");
  EXPECT_EQ(spec->rules().min_run, minutes(5));
  EXPECT_EQ(spec->rules().max_pauses, 3U);
  EXPECT_EQ(PolicySpec::parse("tiresias")->params("place").choice("wait_for"), "skewed");
}

TEST(Registry, APresetMayBeChangedBehindItsName) {
  const auto spec =
      PolicySpec::parse("fitgpp+xion+yard.min_run=5m+backfill=easy", {"yard.turn=2h"});
  ASSERT_TRUE(spec) << spec.error().message;
  EXPECT_EQ(spec->name(), "fitgpp+xion+yard.min_run=5m+backfill=easy yard.turn=2h");
  EXPECT_EQ(spec->member("preempt"), "benefit");
  EXPECT_EQ(spec->member("backfill"), "easy");
  EXPECT_EQ(spec->rules().min_run, minutes(5));
  EXPECT_EQ(spec->rules().turn, hours(2));
  EXPECT_TRUE(error_of("fifu+yard.min_run=5m").starts_with("unknown policy 'fifu"))
      << error_of("fifu+yard.min_run=5m");
  EXPECT_EQ(error_of("fifo+easy").substr(0, 26), "unknown policy 'fifo+easy'");
}

TEST(Registry, NothingIsSetTwiceInALine) {
  EXPECT_EQ(error_of("order=fifo place=spread order=srtf"),
            "order is given twice: order=fifo and order=srtf");
  EXPECT_EQ(error_of("fifo+yard.turn=1h+yard.turn=2h"),
            "yard.turn is given twice: yard.turn=1h and yard.turn=2h");
}

TEST(Registry, ParametersMayComeBeforeTheirMember) {
  const auto spec = PolicySpec::parse("place.wait_for=none  place=consolidate");
  ASSERT_TRUE(spec) << spec.error().message;
  EXPECT_EQ(spec->params("place").choice("wait_for"), "none");
}

TEST(Registry, UnknownNamesGetASuggestion) {
  EXPECT_EQ(
      error_of("fifi"),
      "unknown policy 'fifi', did you mean 'fifo'? (known: fifo, fifo-easy, sjf, srtf, "
      "srsf, las, tiresias, fitgpp, lrtp, rand, xion, fitgpp+xion, live, trainyard, dally, "
      "dally-manual, "
      "dally-no-wait, dally-consolidated, dally-learnt, gandiva, jpas, jpas-oracle, lwf, srsf-1, "
      "srsf-2, ada-srsf, equal-split, market, blind, allox, gavel-las)");
  EXPECT_EQ(
      error_of("order=srt"),
      "unknown order stage 'srt', did you mean 'srtf'? (known: fifo, sjf, srtf, srsf, smith, las, "
      "attained-service, trial-first, network-sensitivity)");
  EXPECT_EQ(error_of("odrer=fifo"),
            "unknown stage 'odrer', did you mean 'order'? (known: order, backfill, place, preempt, "
            "flow, joint, queue, yard)");
  EXPECT_EQ(error_of("place=consolidate place.waitfor=all"),
            "unknown parameter of place=consolidate, 'waitfor', did you mean 'wait_for'? (known: "
            "wait_for)");
}

TEST(Registry, AJointPolicyHasNoStages) {
  ASSERT_TRUE(PolicySpec::parse("joint=equal-split joint.round=5m", {"yard.min_run=0"}));
  EXPECT_TRUE(PolicySpec::parse("order=srtf joint=none"));
  EXPECT_EQ(error_of("order=srtf joint=equal-split"),
            "joint=equal-split decides without stages, so 'order=srtf' has no effect; leave one of "
            "them out");
  EXPECT_EQ(
      error_of("joint=equal-split", {"place.wait_for=all"}),
      "joint=equal-split decides without stages, so 'place.wait_for=all' has no effect; leave "
      "one of them out");
  EXPECT_TRUE(PolicySpec::parse("joint=market joint.takes=all"));
  EXPECT_EQ(error_of("joint=market order=srtf joint.takes=all"),
            "joint=market decides without stages, so 'order=srtf' has no effect; leave one of them "
            "out, or say joint.takes=open");
  EXPECT_EQ(error_of("joint=equal-spilt"),
            "unknown joint policy 'equal-spilt', did you mean 'equal-split'? (known: none, "
            "equal-split, market, allox, gavel-las)");
}

TEST(Registry, AMarketForOpenJobsHasStagesBesideIt) {
  const auto spec = PolicySpec::parse("order=srtf joint=market joint.takes=open");
  ASSERT_TRUE(spec) << spec.error().message;
  EXPECT_FALSE(spec->decides_jointly());
  EXPECT_TRUE(PolicySpec::parse("market")->decides_jointly());
  EXPECT_EQ(error_of("joint=market joint.takes=some"),
            "joint.takes: 'some' is not one of: all, open");
}

TEST(Registry, ErrorsOfSettingsNameThem) {
  EXPECT_EQ(error_of("fifo", {"place.wait_for=all"}),
            "place.wait_for: place=first-fit has no parameters");
  EXPECT_EQ(error_of("tiresias", {"place.wait_for=some"}),
            "place.wait_for: 'some' is not one of: all, skewed, none");
  EXPECT_EQ(error_of("fifo", {"patience"}),
            "'patience' is not a setting; write stage=member or stage.parameter=value");
  EXPECT_EQ(error_of("fifo", {"queue.patience=long"}),
            "queue.patience: 'long' is not a duration; write seconds or units, as in 90, 1.5h, "
            "2d12h, 250ms");
  EXPECT_EQ(error_of("trainyard", {"queue.trial_worth=0.5"}),
            "queue.trial_worth: 0.5 is less than 1, what a second of any job is worth");
  EXPECT_EQ(error_of("order=fifo patience"),
            "'patience' is not a setting; write stage=member or stage.parameter=value");
}

TEST(Registry, ThePageOnPoliciesNamesEverythingThatIsRegistered) {
  std::ifstream file("docs/policies.md");
  ASSERT_TRUE(file) << "docs/policies.md is not here; run in the root of the project";
  std::ostringstream text;
  text << file.rdbuf();
  const std::string page = text.str();
  const auto expect_named = [&](const std::string& what) {
    EXPECT_NE(page.find(what), std::string::npos) << what;
  };
  for (const Preset& preset : presets()) {
    expect_named(fmt::format("| `{}` |", preset.name));
    expect_named(fmt::format("`{}`", preset.line));
  }
  for (const StageInfo& stage : stage_infos())
    for (const MemberInfo& member : stage.members) {
      if (stage.members.size() > 1)
        expect_named(fmt::format("### `{}={}`", stage.name, member.name));
      for (const ParamSpec& param : member.params)
        expect_named(
            fmt::format("| `{}.{}` | `{}` |", stage.name, param.name, param.default_value));
    }
}

}  // namespace
}  // namespace trainyard
