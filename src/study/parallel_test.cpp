#include "study/parallel.h"

#include <gtest/gtest.h>

#include <atomic>
#include <vector>

namespace trainyard {
namespace {

TEST(Parallel, EveryCallIsMadeOnce) {
  for (const int threads : {1, 2, 5, 0}) {
    std::vector<std::atomic<int>> calls(100);
    EXPECT_TRUE(in_parallel(calls.size(), threads, [&](std::size_t i) -> Expected<void> {
      ++calls[i];
      return {};
    }));
    for (const auto& count : calls) EXPECT_EQ(count, 1);
  }
}

TEST(Parallel, TheFirstFailureInOrderIsReturned) {
  for (int repeat = 0; repeat < 50; ++repeat) {
    const auto done = in_parallel(64, 4, [](std::size_t i) -> Expected<void> {
      if (i % 7 == 5) return fail("{} failed", i);
      return {};
    });
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().message, "5 failed");
  }
}

TEST(Parallel, NothingIsBegunAfterAFailure) {
  int calls = 0;
  EXPECT_FALSE(in_parallel(10, 1, [&](std::size_t i) -> Expected<void> {
    ++calls;
    if (i == 3) return fail("no");
    return {};
  }));
  EXPECT_EQ(calls, 4);
}

TEST(Parallel, NothingToDo) {
  const auto never = [](std::size_t) -> Expected<void> { return fail("called"); };
  EXPECT_TRUE(in_parallel(0, 0, never));
  EXPECT_FALSE(in_parallel(0, -1, never)) << "no such number of threads";
}

}  // namespace
}  // namespace trainyard
