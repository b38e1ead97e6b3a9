#include "base/sorted_list.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <iterator>
#include <set>

#include "base/random.h"

namespace trainyard {
namespace {

std::vector<int> forwards(const SortedList<int>& list) {
  std::vector<int> all;
  list.each([&](int value) { return all.push_back(value), true; });
  return all;
}

std::vector<int> from(const SortedList<int>& list, int first) {
  std::vector<int> rest;
  list.each_from(first, [&](int value) { return rest.push_back(value), true; });
  return rest;
}

std::vector<int> backwards(const SortedList<int>& list) {
  std::vector<int> all;
  list.each_reverse([&](int value) { return all.push_back(value), true; });
  return all;
}

void expect_same(const SortedList<int>& list, const std::set<int>& twin) {
  ASSERT_EQ(list.size(), twin.size());
  ASSERT_EQ(list.empty(), twin.empty());
  ASSERT_EQ(forwards(list), std::vector<int>(twin.begin(), twin.end()));
  ASSERT_EQ(backwards(list), std::vector<int>(twin.rbegin(), twin.rend()));
  if (twin.empty()) return;
  ASSERT_EQ(list.front(), *twin.begin());
  ASSERT_EQ(list.back(), *twin.rbegin());
}

TEST(SortedList, EmptyHasNothing) {
  SortedList<int> list;
  EXPECT_TRUE(list.empty());
  EXPECT_FALSE(list.erase(3));
  EXPECT_FALSE(list.contains(3));
  EXPECT_EQ(list.rank(3), 0U);
  EXPECT_TRUE(list.each([](int) { return false; }));
}

/// Whether anything was noted, and the least of the values then.
struct Least {
  bool is_known = false;
  int value = 0;
};

/// A walk that passes chunks by their least value sees what is left of a walk through all.
TEST(SortedList, NotesAreOfWhatStandsInAChunk) {
  constexpr std::uint64_t kSeed = 5;
  SCOPED_TRACE(kSeed);
  Random random(kSeed);
  SortedList<int, Least> list;
  std::set<int> twin;
  std::size_t passed = 0;
  for (int step = 0; step < 4000; ++step) {
    const auto value = static_cast<int>(random.below(1000));
    if (twin.insert(value).second) {
      list.insert(value);
    } else {
      ASSERT_TRUE(list.erase(value));
      twin.erase(value);
    }
    const auto first = static_cast<int>(random.below(1000));
    const int above = first + 300;  // chunks with larger values alone are passed
    std::vector<int> seen;
    const auto pass = [&](std::span<const int> values, Least& note) {
      if (!note.is_known) note = {true, values.front()};
      EXPECT_EQ(note.value, values.front());
      passed += note.value > above;
      return note.value > above;
    };
    list.each_from(first, pass,
                   [&](int next) { return next > above || (seen.push_back(next), true); });
    ASSERT_EQ(seen, std::vector<int>(twin.lower_bound(first), twin.upper_bound(above)));
  }
  EXPECT_GT(passed, 1000U);
}

TEST(SortedList, AWalkEndsWhenToldTo) {
  SortedList<int> list;
  for (int i = 0; i < 200; ++i) list.insert(i);
  int seen = 0;
  EXPECT_FALSE(list.each([&](int) { return ++seen < 100; }));
  EXPECT_EQ(seen, 100);
  EXPECT_FALSE(list.each_reverse([&](int value) { return value > 150; }));
  EXPECT_TRUE(list.each([](int) { return true; }));
}

TEST(SortedList, ClearedItStartsAnew) {
  SortedList<int> list;
  for (int i = 0; i < 200; ++i) list.insert(i);
  list.clear();
  EXPECT_TRUE(list.empty());
  list.insert(7);
  EXPECT_EQ(forwards(list), std::vector<int>{7});
}

/// Grows, shrinks to nothing and grows again; the range decides how dense the values stand.
void against_set(std::uint64_t seed, int range) {
  SCOPED_TRACE(testing::Message() << "seed " << seed << ", range " << range);
  Random random(seed);
  SortedList<int> list;
  std::set<int> twin;
  for (int step = 0; step < 6000; ++step) {
    const int value = static_cast<int>(random.below(range));
    const double inserts = step % 3000 < 1500 ? 0.7 : 0.2;
    if (random.uniform() < inserts) {
      if (twin.insert(value).second) list.insert(value);
    } else if (!twin.empty() && random.uniform() < 0.5) {
      const int first = *twin.begin();
      twin.erase(twin.begin());
      ASSERT_TRUE(list.erase(first));
    } else {
      ASSERT_EQ(list.erase(value), twin.erase(value) == 1);
    }
    ASSERT_EQ(list.contains(value), twin.contains(value));
    ASSERT_EQ(list.rank(value),
              static_cast<std::size_t>(std::distance(twin.begin(), twin.lower_bound(value))));
    if (step % 100 != 0) continue;
    ASSERT_NO_FATAL_FAILURE(expect_same(list, twin));
    ASSERT_EQ(from(list, value), std::vector<int>(twin.lower_bound(value), twin.end()));
    std::vector<int> down;
    for (SortedList<int>::Descent next(list); !next.done(); next.next()) down.push_back(*next);
    ASSERT_EQ(down, std::vector<int>(twin.rbegin(), twin.rend()));
  }
  expect_same(list, twin);
}

TEST(SortedList, AgreesWithStdSet) {
  for (std::uint64_t seed = 1; seed <= 4; ++seed)
    for (const int range : {50, 2'000, 1'000'000}) against_set(seed, range);
}

TEST(SortedList, InOrderOrBackwardsAreTheSame) {
  SortedList<int> up, down;
  std::set<int> twin;
  for (int i = 0; i < 1000; ++i) up.insert(i), down.insert(999 - i), twin.insert(i);
  expect_same(up, twin);
  expect_same(down, twin);
  for (int i = 0; i < 1000; ++i) ASSERT_TRUE(up.erase(i)) << i;
  EXPECT_TRUE(up.empty());
}

}  // namespace
}  // namespace trainyard
