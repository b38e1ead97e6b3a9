#include "live/supervisor/process_limits.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <random>

namespace trainyard {
namespace {

TEST(ProcessLimits, FollowTheLeastBound) {
  struct Bounded {
    ProcessBounds bounds;
    std::int64_t all;
  };
  constexpr std::int64_t kNone = ProcessBounds::kNone;
  for (const auto& [bounds, all] : {
           Bounded{{32'768, 192'686, kNone}, 28'672},          // a kernel's default
           Bounded{{4'194'304, 2'060'000, kNone}, 1'802'500},  // as systemd sets pid_max
           Bounded{{4'194'304, 2'060'000, 4'915}, 3'891},      // TasksMax=15% of 32,768
           Bounded{{32'768, 1'500, kNone}, 750},               // hardly any memory
           Bounded{{32'768, kNone, 10}, 5},
       })
    EXPECT_EQ(processes_of_all_runs(bounds), all) << bounds.pid_max << " " << bounds.groups_above;
}

TEST(ProcessLimits, AreRunsPartsOfTheMachine) {
  EXPECT_EQ(processes_of_run(28'672, 2, 8), 7'168);
  EXPECT_EQ(processes_of_run(28'672, 8, 8), 28'672);
  EXPECT_EQ(processes_of_run(28'672, 16, 8), 28'672) << "a machine that has become smaller";
  EXPECT_EQ(processes_of_run(5, 1, 8), 1) << "with none, nothing could be started";
}

/// GPUs are given out once, so whatever runs side by side is within the parent's limit, and the
/// rest of the machine keeps its reserve.
TEST(ProcessLimits, OfAllRunsTogetherAreWithinTheParents) {
  const auto seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::mt19937_64 random(seed);
  for (int round = 0; round < 20'000; ++round) {
    const auto capacity = static_cast<std::int64_t>(1 + random() % 128);
    const ProcessBounds bounds{
        .pid_max = static_cast<std::int64_t>(301 + random() % (1U << (9 + random() % 14))),
        .threads_max = static_cast<std::int64_t>(301 + random() % 400'000),
        .groups_above = random() % 2 == 0 ? ProcessBounds::kNone
                                          : static_cast<std::int64_t>(301 + random() % 70'000)};
    const std::int64_t all = processes_of_all_runs(bounds);
    const std::int64_t least = std::min({bounds.pid_max, bounds.threads_max, bounds.groups_above});
    ASSERT_LE(all, least - std::min<std::int64_t>(1024, least / 2));
    std::int64_t sum = 0;
    for (std::int64_t left = capacity; left > 0;) {
      const auto gpus = static_cast<std::int64_t>(1 + random() % static_cast<std::uint64_t>(left));
      const std::int64_t part = processes_of_run(all, gpus, capacity);
      ASSERT_GE(part, 1);
      sum += part, left -= gpus;
    }
    ASSERT_LE(sum, all) << "capacity " << capacity << ", pid_max " << bounds.pid_max;
  }
}

TEST(ProcessLimits, AreReadFromTheMachineAndTheGroupsAbove) {
  std::string root = std::filesystem::temp_directory_path() / "trainyard-limits-XXXXXX";
  ASSERT_NE(::mkdtemp(root.data()), nullptr);
  std::filesystem::create_directories(root + "/system.slice/jobs.service");
  std::ofstream(root + "/system.slice/pids.max") << "4915\n";
  std::ofstream(root + "/system.slice/jobs.service/pids.max") << "max\n";
  const ProcessBounds bounds = read_process_bounds(root + "/system.slice/jobs.service");
  EXPECT_EQ(bounds.groups_above, 4915);
  EXPECT_GT(bounds.pid_max, 300);
  EXPECT_GT(bounds.threads_max, 0);
  EXPECT_EQ(read_process_bounds("").groups_above, ProcessBounds::kNone);
  std::filesystem::remove_all(root);
}

}  // namespace
}  // namespace trainyard
