#include "base/grow.h"

#include <gtest/gtest.h>

namespace trainyard {
namespace {

TEST(Grow, MakesTheEntryAndKeepsTheOthers) {
  std::vector<int> table{1, 2};
  grow_to(table, 1, 0);
  EXPECT_EQ(table, (std::vector<int>{1, 2}));
  grow_to(table, 2, 0);
  EXPECT_EQ(table, (std::vector<int>{1, 2, 0}));
}

TEST(Grow, MakesAllThatAreExpectedAtOnce) {
  std::vector<int> table;
  grow_to(table, 0, 100);
  EXPECT_EQ(table.size(), 100U);
  EXPECT_EQ(table.capacity(), 100U);
  grow_to(table, 100, 100);  // more than expected
  EXPECT_GT(table.size(), 100U);
}

TEST(Grow, CopiesSeldomWhereOneMoreIsExpectedEachTime) {
  std::vector<int> table;
  int copies = 0;
  for (std::size_t i = 0; i < 100'000; ++i) {
    const std::size_t before = table.capacity();
    grow_to(table, i, i + 1);
    ASSERT_EQ(table.size(), i + 1);
    copies += table.capacity() != before;
  }
  EXPECT_LT(copies, 40);
}

TEST(Grow, ByHalfSoThatAppendingStaysCheap) {
  std::vector<int> table;
  int growths = 0;
  for (std::size_t i = 0; i < 100'000; ++i) {
    const std::size_t before = table.size();
    grow_to(table, i, 0);
    ASSERT_GT(table.size(), i);
    growths += table.size() != before;
  }
  EXPECT_LT(growths, 40);
}

}  // namespace
}  // namespace trainyard
