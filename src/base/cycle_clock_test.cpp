#include "base/cycle_clock.h"

#include <gtest/gtest.h>

namespace trainyard {
namespace {

TEST(CycleClock, GoesOnAndHasARate) {
  const std::uint64_t begin = CycleClock::now();
  const double rate = CycleClock::ticks_per_us();
  EXPECT_GT(CycleClock::now(), begin);
  EXPECT_GT(rate, 0);
  EXPECT_EQ(CycleClock::ticks_per_us(), rate) << "measured once";
}

}  // namespace
}  // namespace trainyard
