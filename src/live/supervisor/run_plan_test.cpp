#include "live/supervisor/run_plan.h"

#include <gtest/gtest.h>

#include <csignal>

#include "live/supervisor/run_files.h"

namespace trainyard {
namespace {

TEST(RunPlan, IsReadAsItWasWritten) {
  RunPlan plan;
  plan.job = 1'234'567'890'123;
  plan.run = 3;
  plan.name = "a \"name\"\nof two lines";
  plan.state = "/state";
  plan.runs = "runs/u1000/jobs", plan.checkpoints = "checkpoints/u1000/jobs";
  plan.host = "here";
  plan.uid = 4'294'967'294U;
  plan.gid = 100;
  plan.groups = {100, 27};
  plan.user = "ada", plan.home = "/home/ada", plan.shell = "/bin/zsh";
  plan.command = {"python3", "train.py", ""};
  plan.has_script = plan.runs_once = plan.gpus_per_task = true;
  plan.directory = "/d";
  plan.environment = {{"A", "1"}, {"B", "ü"}};
  plan.per_worker = {1, 500, 64};
  plan.gpus = {{0, 1}, {}};
  plan.gpu_names = {{"GPU-a", "GPU-b"}, {}};
  plan.master_port = 29501;
  plan.restarts = 2;
  plan.stop = {SIGUSR1, true, seconds(90), seconds(30)};
  plan.ask_after = minutes(58);
  plan.processes = 1'802'500;
  plan.user_processes = 14'336;
  plan.denied_devices = {{195, 0, 2}, {195, 4, 253}};
  plan.cgroups = {"/u", "/c", "/m", "/p", "/d", false, true, true, true};
  plan.cgroup = "trainyard/x/1.3";
  const auto read = parse_run_plan(to_json(plan));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(*read, plan);
}

TEST(RunPlan, StopAndEndAreReadAsTheyWereWritten) {
  const StopOrder order{SIGTERM, true, microseconds(1'500'000), seconds(3)};
  EXPECT_EQ(parse_stop_order(to_json(order)), order);
  const RunEnd end{.kind = RunEnd::Kind::lost,
                   .status = 137,
                   .asked_requeue = true,
                   .at = Time{1'700'000'000'000'001},
                   .steady = Time{77},
                   .boot = "a-b-c",
                   .ran = seconds(9),
                   .why = "why \"not\"",
                   .was_killed = true,
                   .word = {JobWord::Kind::failed, "no room"}};
  EXPECT_EQ(parse_run_end(to_json(end)), end);
}

TEST(RunPlan, WhatIsTornIsAnError) {
  const std::string whole = to_json(RunEnd{});
  for (std::size_t length = 0; length < whole.size(); ++length)
    EXPECT_FALSE(parse_run_end(whole.substr(0, length))) << length;
  EXPECT_FALSE(parse_run_plan("{}"));
  EXPECT_FALSE(parse_stop_order(R"({"signal": "USR1"})"));
}

TEST(RunPlan, BytesThatAreNotTextDoNotStopIt) {
  RunEnd end;
  end.why = "\xff\xfe";
  EXPECT_TRUE(parse_run_end(to_json(end)));
}

}  // namespace
}  // namespace trainyard
