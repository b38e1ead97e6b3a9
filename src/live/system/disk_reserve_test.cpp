#include "live/system/disk_reserve.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "live/system/testing.h"

namespace trainyard {
namespace {

constexpr std::uint64_t kMiB = 1 << 20;

class DiskReserveTest : public testing::Test {
 protected:
  void set_free(std::uint64_t free) { system.set_disk(System::Disk{160 * kMiB, free}); }
  [[nodiscard]] std::uint64_t on_disk() const {
    std::error_code none;
    const auto size = std::filesystem::file_size(directory.path() + "/reserve", none);
    return none ? 0 : size;
  }

  TemporaryDirectory directory;
  HandSystem system;
};

TEST_F(DiskReserveTest, IsTakenWhereThereIsRoomAndGivenWhereThereIsNone) {
  set_free(100 * kMiB);
  DiskReserve reserve(system, directory.path());
  EXPECT_FALSE(reserve.is_whole());
  reserve.refill();
  EXPECT_TRUE(reserve.is_whole());
  EXPECT_EQ(on_disk(), 20 * kMiB) << "an eighth of the disk";
  EXPECT_FALSE(reserve.give()) << "the disk is not full";
  set_free(0);
  EXPECT_TRUE(reserve.give());
  EXPECT_FALSE(reserve.is_whole());
  EXPECT_LT(on_disk(), 20 * kMiB);
  reserve.refill();
  EXPECT_FALSE(reserve.is_whole());
  set_free(100 * kMiB);
  reserve.refill();
  EXPECT_TRUE(reserve.is_whole());
}

TEST_F(DiskReserveTest, TheLastOfItIsForManyStarts) {
  set_free(100 * kMiB);
  DiskReserve(system, directory.path()).refill();
  set_free(0);
  DiskReserve running(system, directory.path());
  while (running.give()) {
  }
  const std::uint64_t left = on_disk();
  EXPECT_EQ(left, 5 * kMiB);
  int starts = 0;
  for (; on_disk() > 0; ++starts) DiskReserve(system, directory.path()).give_for_start();
  EXPECT_EQ(starts, 40);
}

TEST_F(DiskReserveTest, WithoutADirectoryThereIsNothingToGive) {
  DiskReserve none(system, "");
  none.refill();
  none.give_for_start();
  EXPECT_TRUE(none.is_whole());
  EXPECT_FALSE(none.give());
}

}  // namespace
}  // namespace trainyard
