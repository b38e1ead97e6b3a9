#include "perf/pause_cost.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace trainyard {
namespace {

TEST(PauseCost, OfAModel) {
  const PauseCost bert = pause_cost(110e6 * 12, 8, 120);
  EXPECT_EQ(bert.save, microseconds(3'320'000));
  EXPECT_EQ(bert.load, microseconds(125'320'000));
  const PauseCost slow = pause_cost(
      1e9, 1, 10, 5,
      {.write_bytes_per_s = 1e8, .read_bytes_per_s = 5e8, .fixed_save_s = 0, .per_doubling_s = 3});
  EXPECT_EQ(slow.save, seconds(10));
  EXPECT_EQ(slow.load, seconds(10 + 2 + 3 + 5));
}

TEST(PauseCost, GrowsWithEveryDoublingOfTheGpus) {
  const auto load = [](std::int32_t gpus) { return pause_cost(0, gpus, 0).load; };
  EXPECT_EQ(load(0), seconds(1));
  EXPECT_EQ(load(1), seconds(1));
  EXPECT_EQ(load(2), seconds(2));
  EXPECT_EQ(load(64), seconds(7));
}

double restart(std::string_view name, std::int32_t gpus) {
  return std::ranges::find(restart_tables(), name, &RestartTable::name)->seconds(gpus);
}

TEST(PauseCost, PublishedRestarts) {
  EXPECT_EQ(restart("helios", 1), 7);
  EXPECT_EQ(restart("helios", 2), 30);
  EXPECT_EQ(restart("helios", 8), 30);
  EXPECT_EQ(restart("helios", 9), 60);
  EXPECT_EQ(restart("helios", 64), 60);
  EXPECT_EQ(restart("tiresias", 16), 62);
  EXPECT_EQ(restart("lucid", 8), 40);
  EXPECT_EQ(restart("lucid", 16), 60);
  EXPECT_EQ(restart("titan", 2), 22);
  EXPECT_EQ(restart("titan", 3), 29);
  EXPECT_EQ(restart("titan", 8), 46);
  EXPECT_EQ(restart("elasticflow", 1), 0.7);
  for (const RestartTable& table : restart_tables()) EXPECT_FALSE(table.source.empty());
}

TEST(PauseCost, ARestartIsSplit) {
  EXPECT_EQ(split_restart(60).save, seconds(15));
  EXPECT_EQ(split_restart(60).load, seconds(45));
}

}  // namespace
}  // namespace trainyard
