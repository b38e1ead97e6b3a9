#include "sim/delays.h"

#include <gtest/gtest.h>

namespace trainyard {
namespace {

TEST(Delays, AreReadByName) {
  EXPECT_EQ(*parse_delays("none"), EngineDelays{});
  EXPECT_EQ(*parse_delays("leave=700ms"), (EngineDelays{{}, microseconds(700'000)}));
  EXPECT_EQ(*parse_delays("start=2s,leave=1s"), (EngineDelays{seconds(2), seconds(1)}));
}

TEST(Delays, OthersAreRefused) {
  EXPECT_EQ(
      parse_delays("poll=1s").error().message,
      "delays: 'poll=1s': they are start=TIME and leave=TIME, as in start=1200ms,leave=700ms");
  EXPECT_FALSE(parse_delays(""));
  EXPECT_FALSE(parse_delays("start"));
  EXPECT_FALSE(parse_delays("start=soon"));
}

}  // namespace
}  // namespace trainyard
