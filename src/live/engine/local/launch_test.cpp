#include "live/engine/local/launch.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <algorithm>
#include <numeric>
#include <random>

namespace trainyard {
namespace {

using testing::HasSubstr;

LaunchSite site_of(std::int32_t gpus, std::mt19937& random) {
  LaunchSite site{.state = "/state",
                  .host = "here",
                  .cgroups = {.pids = "/pids", .devices = "/devices"},
                  .cgroup = "trainyard/x"};
  site.capacity = gpus;
  site.processes = static_cast<std::int64_t>(200 + random() % 30'000);
  site.devices.major = 195;
  std::vector<std::int32_t> minors(static_cast<std::size_t>(gpus));
  std::iota(minors.begin(), minors.end(), 0);
  std::ranges::shuffle(minors, random);
  for (std::int32_t number = 0; number < gpus; ++number) {
    Gpu& gpu = site.gpus.emplace_back();
    gpu.number = number;
    gpu.device_minor = minors[static_cast<std::size_t>(number)];
  }
  return site;
}

Launch launch_on(const JobSpec& spec, std::vector<std::int32_t> gpus) {
  Launch launch;
  launch.id = {1, 1};
  launch.spec = &spec;
  launch.owner.uid = ::geteuid();
  launch.workers.push_back({.gpus = std::move(gpus)});
  return launch;
}

bool is_denied(const RunPlan& plan, std::int32_t minor) {
  return std::ranges::any_of(plan.denied_devices, [&](const DeviceRange& range) {
    return range.major == 195 && static_cast<std::int32_t>(range.first) <= minor &&
           minor <= static_cast<std::int32_t>(range.last);
  });
}

/// Whatever runs side by side: their limits are within that of all runs, and of two runs on
/// different GPUs neither may open the other's.
TEST(PlanRun, ConfinesRunsSideBySide) {
  const auto seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  JobSpec spec;
  for (int round = 0; round < 300; ++round) {
    const auto count = static_cast<std::int32_t>(1 + random() % 16);
    const LaunchSite site = site_of(count, random);
    std::vector<std::int32_t> free(static_cast<std::size_t>(count));
    std::iota(free.begin(), free.end(), 0);
    std::ranges::shuffle(free, random);
    std::int64_t processes = 0;
    while (!free.empty()) {
      const auto size = static_cast<std::ptrdiff_t>(1 + random() % free.size());
      const std::vector<std::int32_t> own(free.end() - size, free.end());
      free.resize(free.size() - own.size());
      const auto plan = plan_run(launch_on(spec, own), {}, site);
      ASSERT_TRUE(plan) << plan.error().message;
      ASSERT_GT(plan->processes, 0);
      processes += plan->processes;
      for (const Gpu& gpu : site.gpus)
        ASSERT_EQ(is_denied(*plan, *gpu.device_minor),
                  std::ranges::find(own, gpu.number) == own.end());
    }
    ASSERT_LE(processes, site.processes);
  }
}

TEST(PlanRun, SaysWhatDoesNotHold) {
  std::mt19937 random(1);
  JobSpec spec;
  LaunchSite site = site_of(2, random);
  site.processes = 28'672;
  EXPECT_THAT(describe_confinement(site),
              HasSubstr("; all jobs together may have 28672 processes; jobs cannot open GPUs of"));
  site.cgroups = {};
  EXPECT_THAT(describe_confinement(site),
              HasSubstr("; no pids controller: jobs may have 14336 processes for each user"));
  EXPECT_THAT(describe_confinement(site), HasSubstr("; jobs are not kept from opening GPUs"));
  const auto plan = plan_run(launch_on(spec, {0}), {}, site);
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->user_processes, 14'336);
  EXPECT_EQ(plan->processes, 0) << "it could not be set, and the run would not start";
  EXPECT_TRUE(plan->denied_devices.empty());
}

}  // namespace
}  // namespace trainyard
