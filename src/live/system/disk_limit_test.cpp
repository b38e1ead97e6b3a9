#include "live/system/disk_limit.h"

#include <gtest/gtest.h>

namespace trainyard {
namespace {

TEST(DiskLimit, IsAPartOrASize) {
  EXPECT_EQ(parse_disk_limit("50%")->of(1'000'000), 500'000);
  EXPECT_EQ(parse_disk_limit("100%")->of(1'000'000), 1'000'000);
  EXPECT_EQ(parse_disk_limit("2GiB")->of(1'000'000), std::int64_t{2} << 30U);
  for (const char* wrong : {"", "%", "0%", "101%", "50 %", "-1%", "half", "0"})
    EXPECT_FALSE(parse_disk_limit(wrong)) << wrong;
}

}  // namespace
}  // namespace trainyard
