// An agent against a kernel in memory, which refuses, forgets and is slow to have groups; and at
// random, with what must hold after every step.
#include "live/flow_agent/flow_agent.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "base/random.h"

namespace trainyard {
namespace {

const FlowHost kAgentHost{.interface = "eth0"};

class FakeKernel final : public FlowKernel {
 public:
  std::optional<std::uint64_t> find_cgroup(const std::string& name) const override {
    const auto found = groups.find(name);
    return found == groups.end() ? std::nullopt : std::optional(found->second);
  }
  Expected<void> mark(const Marks& next) override {
    ++calls;
    if (refuses) return marks.clear(), fail("refused");
    marks = next, is_dead = false;
    return {};
  }
  Expected<void> keep_floor(double next) override {
    if (refuses || refuses_floor) return fail("refused");
    floor = next;
    return {};
  }
  bool is_alive() override { return !is_dead; }
  /// The process that holds the marks is killed.
  void die() { is_dead = true, marks.clear(); }

  std::map<std::string, std::uint64_t> groups;
  Marks marks;
  double floor = 0.2;
  bool refuses = false, refuses_floor = false, is_dead = false;
  int calls = 0;
};

std::string line(const std::vector<std::array<int, 3>>& jobs, int age_s = 0, double floor = 0.2,
                 int classes = 4) {
  std::string text;
  for (const auto& [job, run, flow_class] : jobs)
    text += fmt::format(
        R"({}{{"job":{},"run":{},"class":{},"cgroups":["t/{}.{}","s/slurmstepd.scope/job_{}"]}})",
        text.empty() ? "" : ",", job, run, flow_class, job, run, job);
  return fmt::format(
      R"({{"machine":"m","age_s":{},"valid_for_s":30,"classes":{},"floor":{},"jobs":[{}]}})", age_s,
      classes, floor, text);
}

class FlowAgentTest : public testing::Test {
 protected:
  Time at(int s) { return Time{} + seconds(1000 + s); }

  FakeKernel kernel;
  std::vector<std::string> told;
  FlowAgent agent{kernel, "m", kAgentHost, 0.2,
                  [this](FlowAgent::Level, const std::string& text) { told.push_back(text); }};
};

TEST_F(FlowAgentTest, AJobIsMarkedWhenItsGroupAppears) {
  agent.hear(line({{7, 1, 0}, {8, 1, 1}}), at(0));
  kernel.groups["t/8.1"] = 80;
  agent.tick(at(0));
  EXPECT_EQ(kernel.marks, (Marks{{"8_1", {1, {{"t/8.1", 80}}}}}));
  kernel.groups["s/slurmstepd.scope/job_7"] = 70;
  agent.tick(at(1));
  EXPECT_EQ(kernel.marks, (Marks{{"7_1", {0, {{"s/slurmstepd.scope/job_7", 70}}}},
                                 {"8_1", {1, {{"t/8.1", 80}}}}}));
  const int calls = kernel.calls;
  agent.tick(at(2));
  EXPECT_EQ(kernel.calls, calls) << "nothing is new";
  kernel.groups["t/8.1"] = 81;
  agent.tick(at(3));
  EXPECT_EQ(kernel.marks.at("8_1").cgroups[0].number, 81U) << "another group by the same name";
  kernel.groups.clear();
  agent.tick(at(4));
  EXPECT_TRUE(kernel.marks.empty());
}

TEST_F(FlowAgentTest, AJobWithoutAGroupIsMarkedByItsUserWhereThatIsAskedFor) {
  FlowAgent by_user(kernel, "m", {.interface = "eth0", .marks_users = true}, 0.2,
                    [](FlowAgent::Level, const std::string&) {});
  const std::string text =
      R"({"machine":"m","age_s":0,"valid_for_s":30,"classes":4,"floor":0.2,"jobs":[)"
      R"({"job":7,"run":1,"class":0,"cgroups":["t/7.1"],"uid":1007},)"
      R"({"job":8,"run":1,"class":1,"cgroups":["t/8.1"],"uid":1008},)"
      R"({"job":9,"run":1,"class":2,"cgroups":["t/9.1"]},)"
      R"({"job":10,"run":1,"class":2,"cgroups":[],"uid":0}]})";
  kernel.groups["t/7.1"] = 70;
  for (FlowAgent* each : {&by_user, &agent}) {
    each->hear(text, at(0));
    each->tick(at(0));
    Marks expected{{"7_1", {0, {{"t/7.1", 70}}}}};
    if (each == &by_user) expected["8_1"] = {1, {}, 1008};
    EXPECT_EQ(kernel.marks, expected) << "job 9 shares its user with others, job 10 is root's";
  }
}

TEST_F(FlowAgentTest, WhatIsNotVouchedForIsDropped) {
  kernel.groups["t/7.1"] = 70;
  agent.hear(line({{7, 1, 0}}), at(0));
  agent.tick(at(0));
  EXPECT_EQ(kernel.marks.size(), 1U);
  EXPECT_LE(agent.next_tick(at(29)), at(30));
  agent.tick(at(29));
  EXPECT_EQ(kernel.marks.size(), 1U);
  agent.tick(at(30));
  EXPECT_TRUE(kernel.marks.empty()) << "all traffic is fair";
  agent.hear(line({{7, 1, 0}}, 25), at(40));
  agent.tick(at(40));
  EXPECT_EQ(kernel.marks.size(), 1U);
  agent.tick(at(45));
  EXPECT_TRUE(kernel.marks.empty()) << "it was 25 seconds old when it came";
  EXPECT_FALSE(agent.status(at(45)).is_valid);
}

TEST_F(FlowAgentTest, AStateOfAnotherMachineOrNoStateChangesNothing) {
  kernel.groups["t/7.1"] = 70;
  agent.hear(line({{7, 1, 0}}), at(0));
  agent.tick(at(0));
  for (const char* text :
       {"", "{}", "not json",
        R"({"machine":"other","age_s":0,"valid_for_s":30,"classes":4,"floor":0,"jobs":[]})"}) {
    agent.hear(text, at(1));
    agent.tick(at(1));
    EXPECT_EQ(kernel.marks.size(), 1U) << text;
  }
  agent.tick(at(30));
  EXPECT_TRUE(kernel.marks.empty()) << "and vouches for nothing";
}

TEST_F(FlowAgentTest, TheLastClassOfThePolicyIsTheLastOneHere) {
  for (int job = 1; job <= 4; ++job) kernel.groups[fmt::format("t/{}.1", job)] = 1;
  agent.hear(line({{1, 1, 0}, {2, 1, 1}, {3, 1, 6}, {4, 1, 7}}, 0, 0.2, 8), at(0));
  agent.tick(at(0));
  EXPECT_EQ(kernel.marks.at("1_1").flow_class, 0U);
  EXPECT_EQ(kernel.marks.at("2_1").flow_class, 1U);
  EXPECT_EQ(kernel.marks.at("3_1").flow_class, 3U);
  EXPECT_EQ(kernel.marks.at("4_1").flow_class, 3U);
  agent.hear(line({{1, 1, 0}, {2, 1, 1}}, 0, 0.2, 2), at(1));
  agent.tick(at(1));
  EXPECT_EQ(kernel.marks.at("2_1").flow_class, 3U) << "of two";
  EXPECT_EQ(agent.status(at(1)).class_changes, 1U);
}

TEST_F(FlowAgentTest, TheKernelIsAskedAgainEverMoreRarely) {
  kernel.groups["t/7.1"] = 70;
  kernel.refuses = true;
  std::vector<int> asked;
  for (int s = 0; s < 60; ++s) {
    agent.hear(line({{7, 1, 0}}), at(s));
    const int before = kernel.calls;
    agent.tick(at(s));
    if (kernel.calls != before) asked.push_back(s);
  }
  EXPECT_EQ(asked, (std::vector{0, 1, 3, 7, 15, 31}));
  EXPECT_EQ(agent.status(at(60)).problem, "no job is marked: refused");
  kernel.refuses = false;
  agent.hear(line({{7, 1, 0}}), at(61));
  agent.tick(at(61));
  EXPECT_EQ(kernel.marks.size(), 1U);
  EXPECT_EQ(agent.status(at(61)).problem, "");
}

TEST_F(FlowAgentTest, MarksThatWentWithTheirProcessAreMadeAnew) {
  kernel.groups["t/7.1"] = 70;
  agent.hear(line({{7, 1, 2}}), at(0));
  agent.tick(at(0));
  kernel.die();
  agent.tick(at(1));
  agent.tick(at(2));
  EXPECT_EQ(kernel.marks.size(), 1U);
}

TEST_F(FlowAgentTest, TheFloorFollowsTheDaemons) {
  agent.hear(line({}, 0, 0.4), at(0));
  agent.tick(at(0));
  EXPECT_EQ(kernel.floor, 0.4);
}

TEST_F(FlowAgentTest, AFloorThatIsRefusedKeepsNoMarks) {
  kernel.groups["t/7.1"] = 70;
  kernel.refuses_floor = true;
  for (const int s : {0, 20, 28}) {
    agent.hear(line({{7, 1, 0}}, s, 0.4), at(s));
    agent.tick(at(s));
    EXPECT_EQ(kernel.marks.size(), 1U);
  }
  EXPECT_EQ(agent.status(at(28)).problem, "the queue keeps its floor: refused");
  EXPECT_LE(agent.next_tick(at(29)), at(30));
  agent.tick(at(30));
  EXPECT_TRUE(kernel.marks.empty()) << "the state is too old, whatever the queue does";
  kernel.refuses_floor = false;
  agent.hear(line({{7, 1, 1}}, 0, 0.4), at(61));
  agent.tick(at(61));
  EXPECT_EQ(kernel.floor, 0.4);
  EXPECT_EQ(kernel.marks.at("7_1").flow_class, 1U);
  EXPECT_EQ(agent.status(at(61)).problem, "");
}

/// After every step: what the kernel marks is what was last heard, unless it refused or died since
/// the agent last looked; and nothing that is older than it is valid is marked.
TEST(FlowAgentAtRandom, NothingIsMarkedThatTheDaemonDoesNotVouchFor) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    FakeKernel kernel;
    FlowAgent agent(kernel, "m", kAgentHost, 0.2, [](FlowAgent::Level, const std::string&) {});
    Time now = Time{} + seconds(100), valid_until;
    std::map<int, std::pair<int, int>> heard;  // run and class by job
    Time calm_since = now;                     // the kernel has refused nothing since
    for (int step = 0; step < 200; ++step) {
      now = now + microseconds(static_cast<std::int64_t>(random.below(4'000'000)));
      const std::uint64_t what = random.below(10);
      if (what < 3) {
        heard.clear();
        std::vector<std::array<int, 3>> jobs;
        for (int job = 1; job <= 5; ++job) {
          if (random.below(2) == 0) continue;
          const int run = 1 + static_cast<int>(random.below(3));
          const int flow_class = static_cast<int>(random.below(4));
          heard[job] = {run, flow_class};
          jobs.push_back({job, run, flow_class});
        }
        const int age = static_cast<int>(random.below(35));
        agent.hear(line(jobs, age, random.below(3) == 0 ? 0.4 : 0.2), now);
        valid_until = now + seconds(30 - age);
      } else if (what < 6) {
        const std::string name = fmt::format("t/{}.{}", 1 + random.below(5), 1 + random.below(3));
        if (random.below(3) == 0)
          kernel.groups.erase(name);
        else
          kernel.groups[name] = random.bits();
      } else if (what == 6) {
        agent.hear("junk", now);
      } else if (what == 7) {
        kernel.refuses = random.below(3) == 0;
        kernel.refuses_floor = random.below(2) == 0;
      } else if (what == 8 && random.below(3) == 0) {
        kernel.die();
        calm_since = now;
      }
      if (kernel.refuses) calm_since = now;
      agent.tick(now);
      EXPECT_GT(agent.next_tick(now), now);
      if (now >= valid_until) {
        EXPECT_TRUE(kernel.marks.empty());
        continue;
      }
      for (const auto& [name, mark] : kernel.marks) {
        const int job = std::stoi(name), run = std::stoi(name.substr(name.find('_') + 1));
        ASSERT_TRUE(heard.contains(job));
        if (kernel.refuses) continue;
        EXPECT_EQ(heard[job], std::pair(run, static_cast<int>(mark.flow_class)));
      }
      if (now - calm_since <= seconds(31)) continue;
      std::set<std::string> expected;
      for (const auto& [job, how] : heard)
        if (kernel.groups.contains(fmt::format("t/{}.{}", job, how.first)))
          expected.insert(fmt::format("{}_{}", job, how.first));
      std::set<std::string> marked;
      for (const auto& [name, mark] : kernel.marks) marked.insert(name);
      EXPECT_EQ(marked, expected);
    }
  }
}

}  // namespace
}  // namespace trainyard
