#include "live/engine/local/watchdog.h"

#include <gtest/gtest.h>

namespace trainyard {
namespace {

class WatchdogTest : public testing::Test {
 protected:
  /// Looks once a second; returns after how many seconds the supervisor was to be ended.
  std::optional<int> ended_within(int looks, bool has_processes) {
    for (int look = 1; look <= looks; ++look) {
      now_ = now_ + seconds(1);
      if (dog_.look(now_, has_processes)) return look;
    }
    return std::nullopt;
  }

  Time now_{1'000'000};
  Watchdog dog_{minutes(1)};
};

TEST_F(WatchdogTest, ASupervisorWithProcessesIsLeftAlone) {
  EXPECT_FALSE(ended_within(100'000, true));
}

TEST_F(WatchdogTest, OneWithoutAnyForAMinuteIsEndedOnce) {
  EXPECT_FALSE(ended_within(59, false));
  EXPECT_FALSE(ended_within(1, true)) << "one has begun";
  EXPECT_EQ(ended_within(100, false), 60);
  EXPECT_FALSE(dog_.is_beyond_reach());
  EXPECT_FALSE(ended_within(60, false));
  EXPECT_TRUE(dog_.is_beyond_reach());
}

TEST_F(WatchdogTest, OneThatDoesNotKillItsRunIsEndedAMinuteAfterItsTime) {
  EXPECT_FALSE(ended_within(10, true));
  dog_.expect_end(now_ + seconds(100));
  dog_.expect_end(now_ + seconds(30));
  dog_.expect_end(now_ + seconds(300));
  EXPECT_EQ(ended_within(1000, true), 89) << "the look at its time counts";
  EXPECT_FALSE(ended_within(1000, true));
  EXPECT_FALSE(dog_.is_beyond_reach()) << "something of the run lives";
}

TEST_F(WatchdogTest, TimeInWhichNothingWasSeenDoesNotCount) {
  EXPECT_FALSE(ended_within(10, false));
  now_ = now_ + hours(5);
  EXPECT_FALSE(ended_within(40, false));
}

}  // namespace
}  // namespace trainyard
