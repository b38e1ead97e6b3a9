#include "yard/count_index.h"

#include <gtest/gtest.h>

#include <optional>

#include "base/random.h"

namespace trainyard {
namespace {

TEST(CountIndex, TheExampleOfTheHeader) {
  CountIndex index(4, 8);
  for (const auto& [item, count] : {std::pair{0, 3}, {1, 8}, {2, 0}, {3, 3}})
    index.insert(static_cast<std::size_t>(item), static_cast<std::size_t>(count));
  EXPECT_EQ(index.next(0, 4), 1U);
  EXPECT_EQ(index.next(0, 1), 0U);
  EXPECT_EQ(index.next(1, 1), 1U);
  EXPECT_EQ(index.smallest_count(2), 3U);
  EXPECT_EQ(index.first_with(3), 0U);
  EXPECT_EQ(index.largest_count(), 8U);
  EXPECT_EQ(index.population(3), 2U);
}

TEST(CountIndex, EmptyHasNothing) {
  const CountIndex index(100, 8);
  EXPECT_EQ(index.next(0, 0), CountIndex::kNone);
  EXPECT_EQ(index.smallest_count(0), CountIndex::kNone);
  EXPECT_EQ(index.largest_count(), CountIndex::kNone);
  EXPECT_EQ(CountIndex(0, 0).next(0, 0), CountIndex::kNone);
}

TEST(CountIndex, BeyondItsRangeThereIsNothing) {
  CountIndex index(64, 8);
  index.insert(63, 8);
  EXPECT_EQ(index.next(0, 9), CountIndex::kNone);
  EXPECT_EQ(index.next(64, 0), CountIndex::kNone);
  EXPECT_EQ(index.smallest_count(9), CountIndex::kNone);
  EXPECT_EQ(index.smallest_count(900), CountIndex::kNone);
  EXPECT_EQ(index.largest_count(900), 8U);
}

/// The same answers by looking at everyone.
struct Twin {
  std::vector<std::optional<std::size_t>> count;

  [[nodiscard]] std::size_t next(std::size_t from, std::size_t low, std::size_t high) const {
    for (std::size_t i = from; i < count.size(); ++i)
      if (count[i] && *count[i] >= low && *count[i] <= high) return i;
    return CountIndex::kNone;
  }
  [[nodiscard]] std::size_t population(std::size_t of) const {
    std::size_t sum = 0;
    for (const auto& c : count) sum += c == of;
    return sum;
  }
};

void against_brute_force(std::uint64_t seed, std::size_t items, std::size_t max_count) {
  SCOPED_TRACE(testing::Message() << "seed " << seed << ", " << items << " items");
  Random random(seed);
  CountIndex index(items, max_count);
  Twin twin{std::vector<std::optional<std::size_t>>(items)};
  for (int step = 0; step < 2000; ++step) {
    const std::size_t item = random.below(items), count = random.below(max_count + 1);
    std::optional<std::size_t>& known = twin.count[item];
    if (!known) {
      index.insert(item, count), known = count;
    } else if (random.uniform() < 0.5) {
      index.move(item, *known, count), known = count;
    } else {
      index.erase(item, *known), known.reset();
    }
    const std::size_t from = random.below(items + 1), low = random.below(max_count + 1);
    const std::size_t high = low + random.below(max_count + 1 - low);
    ASSERT_EQ(index.next(from, low, high), twin.next(from, low, high)) << from << ' ' << low;
    ASSERT_EQ(index.next(from, low), twin.next(from, low, max_count));
    ASSERT_EQ(index.first_with(low), twin.next(0, low, low));
    ASSERT_EQ(index.population(low), twin.population(low));
    std::size_t smallest = low, largest = max_count + 1;
    while (smallest <= max_count && twin.population(smallest) == 0) ++smallest;
    while (largest > 0 && twin.population(largest - 1) == 0) --largest;
    ASSERT_EQ(index.smallest_count(low), smallest > max_count ? CountIndex::kNone : smallest);
    ASSERT_EQ(index.largest_count(), largest == 0 ? CountIndex::kNone : largest - 1);
    std::size_t above = low + 1;  // the largest of at most `low` is below
    while (above > 0 && twin.population(above - 1) == 0) --above;
    ASSERT_EQ(index.largest_count(low), above == 0 ? CountIndex::kNone : above - 1);
  }
}

TEST(CountIndex, AgreesWithBruteForce) {
  for (const std::size_t items : {1, 63, 64, 65, 200}) against_brute_force(items, items, 8);
  against_brute_force(1, 300, 64);
  against_brute_force(2, 5, 1024);
}

TEST(CountIndex, FindsTheOneItemInManyBlocks) {
  CountIndex index(20'000, 2);
  for (const std::size_t item : {0, 63, 64, 4095, 4096, 8191, 12'345, 19'999}) {
    index.insert(item, 1);
    EXPECT_EQ(index.next(0, 1), item);
    EXPECT_EQ(index.next(item, 1), item);
    EXPECT_EQ(index.next(item + 1, 1), CountIndex::kNone);
    index.erase(item, 1);
  }
}

}  // namespace
}  // namespace trainyard
