#include "live/server/memory_budget.h"

#include <gtest/gtest.h>

#include <thread>

namespace trainyard {
namespace {

using std::chrono::milliseconds;
constexpr milliseconds kNow{0}, kLong{60'000};
const MemoryBudget::Caller kAda{"ada"}, kBob{"bob"}, kRoot{"root", true};

TEST(MemoryBudget, NobodyHasMoreThanTheirPartNorAllMoreThanThereIs) {
  MemoryBudget budget(100, 60);
  const auto ada = budget.take(kAda, 60, kNow);
  ASSERT_NE(ada, nullptr);
  EXPECT_EQ(budget.take(kAda, 1, kNow), nullptr);
  const auto bob = budget.take(kBob, 40, kNow);
  ASSERT_NE(bob, nullptr);
  EXPECT_EQ(budget.take(kBob, 1, kNow), nullptr);
  EXPECT_EQ(budget.take(kRoot, 1, kNow), nullptr);
  EXPECT_EQ(budget.used(), 100U);
}

TEST(MemoryBudget, OperatorsMayHaveAllOfIt) {
  MemoryBudget budget(100, 10);
  EXPECT_NE(budget.take(kRoot, 100, kNow), nullptr);
}

TEST(MemoryBudget, WhatIsGivenBackIsThereForThoseWhoWait) {
  MemoryBudget budget(100, 100);
  auto first = budget.take(kAda, 100, kNow);
  std::jthread giver([&] { first.reset(); });
  EXPECT_NE(budget.take(kBob, 100, kLong), nullptr);
}

TEST(MemoryBudget, APartGrowsWithinTheBoundsOnly) {
  MemoryBudget budget(100, 60);
  const auto part = budget.take(kAda, 10, kNow);
  EXPECT_TRUE(part->resize(60));
  EXPECT_FALSE(part->resize(61));
  EXPECT_EQ(budget.used(), 60U);
  EXPECT_TRUE(part->resize(5));
  EXPECT_EQ(budget.used(), 5U);
}

TEST(MemoryBudget, NothingIsLeftOfPartsThatAreGone) {
  MemoryBudget budget(100, 60);
  for (int i = 0; i < 1000; ++i)
    EXPECT_NE(budget.take({"caller " + std::to_string(i)}, 60, kNow), nullptr);
  EXPECT_EQ(budget.used(), 0U);
}

}  // namespace
}  // namespace trainyard
