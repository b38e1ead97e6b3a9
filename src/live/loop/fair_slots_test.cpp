#include "live/loop/fair_slots.h"

#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <thread>
#include <vector>

#include "live/system/testing.h"

namespace trainyard {
namespace {

TEST(FairSlots, AreTakenByNoMoreThanThereAre) {
  FairSlots slots(2);
  std::atomic<int> inside = 0, most = 0;
  std::vector<std::jthread> callers;
  for (uid_t caller = 0; caller < 16; ++caller)
    callers.emplace_back([&, caller] {
      for (int i = 0; i < 200; ++i) {
        const auto turn = slots.enter(caller % 3);
        const int now = ++inside;
        for (int seen = most; seen < now && !most.compare_exchange_weak(seen, now);) {
        }
        --inside;
      }
    });
  callers.clear();
  EXPECT_LE(most, 2);
}

/// One user waits ten times, another once: the other is second at the latest.
TEST(FairSlots, UsersTakeTurns) {
  FairSlots slots(1);
  std::mutex mutex;
  std::vector<uid_t> served;
  std::vector<std::jthread> callers;
  {
    const auto first = slots.enter(7);
    for (int i = 0; i < 10; ++i)
      callers.emplace_back([&] {
        const auto turn = slots.enter(1);
        const std::lock_guard lock(mutex);
        served.push_back(1);
      });
    ASSERT_TRUE(eventually([&] { return slots.waiting() == 10; }));
    callers.emplace_back([&] {
      const auto turn = slots.enter(2);
      const std::lock_guard lock(mutex);
      served.push_back(2);
    });
    ASSERT_TRUE(eventually([&] { return slots.waiting() == 11; }));
  }
  callers.clear();
  ASSERT_EQ(served.size(), 11U);
  EXPECT_TRUE(served[0] == 2 || served[1] == 2);
}

}  // namespace
}  // namespace trainyard
