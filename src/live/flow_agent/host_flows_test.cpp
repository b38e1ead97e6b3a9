#include "live/flow_agent/host_flows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace trainyard {
namespace {

using testing::HasSubstr;

std::string state(const std::string& jobs, const std::string& more = "") {
  return R"({"machine": "gpu1", "age_s": 0.5, "valid_for_s": 30, "classes": 4, "floor": 0.2,)" +
         more + R"("jobs": [)" + jobs + "]}";
}
std::string job(const std::string& number, const std::string& flow_class,
                const std::string& cgroup) {
  return R"({"job": )" + number + R"(, "run": 1, "class": )" + flow_class + R"(, "cgroups": [")" +
         cgroup + R"("]})";
}

TEST(HostFlows, AreReadWhole) {
  const auto flows =
      parse_host_flows(state(job("12", "3", "trainyard/1f3a/12.1"), R"("by": "x",)"));
  ASSERT_TRUE(flows) << flows.error().message;
  EXPECT_EQ(flows->machine, "gpu1");
  EXPECT_EQ(flows->age, microseconds(500'000));
  EXPECT_EQ(flows->valid_for, seconds(30));
  EXPECT_EQ(flows->classes, 4U);
  EXPECT_EQ(flows->floor, 0.2);
  ASSERT_EQ(flows->jobs.size(), 1U);
  EXPECT_EQ(flows->jobs[0], (HostFlows::Job{12, 1, 3, {"trainyard/1f3a/12.1"}}));
}

TEST(HostFlows, WhatCannotBeIsRefused) {
  for (
      const auto& [text, wrong] : std::vector<std::pair<std::string, const char*>>{
          {"", "JSON"},
          {"[]", "object"},
          {"{}", "machine"},
          {state(job("0", "0", "a/0.1")), "job: is not from 1"},
          {state(job("12", "4", "a")), "class: is not from 0 to 3"},
          {state(job("12", "-1", "a")), "class"},
          {state(job("12", "0", "a/12.1") + "," + job("12", "0", "b/12.1")), "job 12 twice"},
          {state("3"), "no object"},
          {state(R"({"job": 1, "run": 1, "class": 0, "cgroups": "a"})"), "cgroups"},
          {state(job("18446744073709551615", "0", "a")), "job"},
          {state(job("12", "0", "system.slice/ssh.service")), "no control group of job 12"},
          {R"({"machine": "a", "age_s": -1, "valid_for_s": 1, "classes": 1, "floor": 0, "jobs": []})",
           "age_s"},
          {R"({"machine": "a", "age_s": 0, "valid_for_s": 1, "classes": 1, "floor": 1, "jobs": []})",
           "floor"}}) {
    const auto flows = parse_host_flows(text);
    ASSERT_FALSE(flows) << text;
    EXPECT_THAT(flows.error().message, HasSubstr(wrong)) << text;
  }
}

TEST(HostFlows, AJobMayHaveAUserOfItsOwn) {
  const auto flows =
      parse_host_flows(state(R"({"job": 1, "run": 1, "class": 0, "cgroups": [], "uid": 1007})"));
  ASSERT_TRUE(flows) << flows.error().message;
  EXPECT_EQ(flows->jobs[0].user, 1007U);
  for (const char* uid : {"-1", "4294967295", "\"root\"", "1.5", "null"})
    EXPECT_FALSE(parse_host_flows(state(
        R"({"job": 1, "run": 1, "class": 0, "cgroups": [], "uid": )" + std::string(uid) + "}")))
        << uid;
}

TEST(HostFlows, ANameOfAControlGroupMeansNothingToNft) {
  for (const char* name : {"trainyard/1f3a/12.1", "system.slice/slurmstepd.scope/job_12",
                           "system.slice/trainyard-runs.service/trainyard/x@y:z+/1.1"})
    EXPECT_TRUE(is_cgroup_name(name)) << name;
  for (const char* name : {"", "/a", "a/", "a//b", "a/../b", "..", ".", "a b", "a\"b", "a;b", "a{b",
                           "a\\b", "a$b", "a*", "a\nb", "\xc3\xa9"})
    EXPECT_FALSE(is_cgroup_name(name)) << name;
  EXPECT_FALSE(parse_host_flows(state(job("1", "0", "a; flush ruleset"))));
}

TEST(HostFlows, OnlyGroupsThatAJobHasAreTaken) {
  for (const char* name :
       {"trainyard/1f3a/12.1", "system.slice/trainyard-runs.service/trainyard/1f3a/12.1",
        "system.slice/slurmstepd.scope/job_4711", "system.slice/slurmstepd.scope/job_4711_3",
        "system.slice/n1_slurmstepd.scope/job_4711"})
    EXPECT_TRUE(is_cgroup_of(name, 12, 1)) << name;
  for (const char* name :
       {"12.1", "trainyard/1f3a/12.2", "trainyard/1f3a/112.1", "trainyard/1f3a/13.1", "user.slice",
        "system.slice/ssh.service", "system.slice/job_4711", "trainyard/1f3a/12.1/x",
        "system.slice/slurmstepd.scope", "system.slice/slurmstepd.scope/job_4711/step_0",
        "system.slice/xslurmstepd.scope/job_1"})
    EXPECT_FALSE(is_cgroup_of(name, 12, 1)) << name;
}

}  // namespace
}  // namespace trainyard
