#include "market/matching.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/random.h"

namespace trainyard {
namespace {

struct MatchingCase {
  std::vector<std::int32_t> capacity, sizes;
  std::vector<double> worth;
};

/// The largest sum, by trying everything from this buyer and kind on; below 0: there is none.
double try_all(const MatchingCase& drawn, std::vector<std::int32_t>& left, std::size_t cell,
               std::int32_t wanted) {
  const std::size_t kinds = left.size(), buyer = cell / kinds, kind = cell % kinds;
  if (kind == 0) {
    if (wanted > 0) return -1;
    if (buyer == drawn.sizes.size()) return 0;
    wanted = drawn.sizes[buyer];
  }
  double best = -1;
  for (std::int32_t n = 0; n <= std::min(wanted, left[kind]); ++n) {
    if (n > 0 && drawn.worth[cell] < 0) break;
    left[kind] -= n;
    const double rest = try_all(drawn, left, cell + 1, wanted - n);
    left[kind] += n;
    if (rest >= 0) best = std::max(best, rest + (n > 0 ? n * drawn.worth[cell] : 0));
  }
  return best;
}

MatchingCase draw_matching(Random& random) {
  MatchingCase drawn;
  drawn.capacity.resize(1 + random.below(4));
  for (std::int32_t& number : drawn.capacity) number = static_cast<std::int32_t>(random.below(4));
  drawn.sizes.resize(random.below(5));
  for (std::int32_t& size : drawn.sizes) size = static_cast<std::int32_t>(random.below(4));
  // Ties, worths that differ by little more than rounding, and worths of very different sizes.
  const std::uint64_t flavour = random.below(4);
  for (std::size_t cell = 0; cell < drawn.sizes.size() * drawn.capacity.size(); ++cell) {
    double worth = random.uniform();
    if (flavour == 1) worth = static_cast<double>(random.below(3));
    if (flavour == 2) worth = 1 + 1e-15 * static_cast<double>(random.below(9));
    if (flavour == 3) worth = std::pow(10, random.uniform(-12, 12));
    drawn.worth.push_back(random.below(8) == 0 ? -1 : worth);
  }
  return drawn;
}

void expect_matched_within(const MatchingCase& drawn, const Allocation& allocation) {
  std::vector<std::int32_t> left = drawn.capacity;
  for (std::size_t buyer = 0; buyer < drawn.sizes.size(); ++buyer) {
    ASSERT_EQ(allocation.workers(buyer), drawn.sizes[buyer]) << "buyer " << buyer;
    for (std::size_t kind = 0; kind < left.size(); ++kind) {
      const std::int32_t number = allocation.of(buyer)[kind];
      ASSERT_GE(number, 0);
      ASSERT_TRUE(number == 0 || drawn.worth[buyer * left.size() + kind] >= 0);
      left[kind] -= number;
      ASSERT_GE(left[kind], 0) << "kind " << kind;
    }
  }
}

TEST(Matching, ExampleOfItsHeader) {
  const auto found = match(std::vector<std::int32_t>{2, 2}, std::vector<std::int32_t>{2, 2},
                           std::vector<double>{3, 1, 5, 4});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->worth, 3 + 3 + 4 + 4);
  EXPECT_EQ(found->allocation.of(0)[0], 2);
  EXPECT_EQ(found->allocation.of(1)[1], 2);
}

TEST(Matching, ChainsGoThroughSeveralKinds) {
  // C can only have x; A makes room there by going to y, B there by going to z.
  const auto found = match(std::vector<std::int32_t>{1, 1, 1}, std::vector<std::int32_t>{1, 1, 1},
                           std::vector<double>{9, 8, -1, -1, 9, 7, 1, -1, -1});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->worth, 8 + 7 + 1);
}

TEST(Matching, OfNobodyAndOfNothing) {
  EXPECT_EQ(match(std::vector<std::int32_t>{3}, {}, {})->worth, 0);
  EXPECT_EQ(match({}, {}, {})->worth, 0);
  EXPECT_FALSE(match({}, std::vector<std::int32_t>{1}, {}));
  EXPECT_EQ(match({}, std::vector<std::int32_t>{0}, {})->worth, 0);
  const std::vector<double> nowhere = {-1, -1};
  EXPECT_FALSE(match(std::vector<std::int32_t>{2, 2}, std::vector<std::int32_t>{1}, nowhere));
  EXPECT_FALSE(match(std::vector<std::int32_t>{2}, std::vector<std::int32_t>{2, 1},
                     std::vector<double>{1, 1}));
  const std::vector<double> nothing_gained = {0, 0};
  EXPECT_EQ(
      match(std::vector<std::int32_t>{1, 1}, std::vector<std::int32_t>{2}, nothing_gained)->worth,
      0);
}

TEST(Matching, IsTheBestOfAllOnRandomCases) {
  for (std::uint64_t seed = 1; seed <= 10'000; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Random random(seed);
    const MatchingCase drawn = draw_matching(random);
    std::vector<std::int32_t> left = drawn.capacity;
    const double best = try_all(drawn, left, 0, 0);
    const auto found = match(drawn.capacity, drawn.sizes, drawn.worth);
    ASSERT_EQ(found.has_value(), best >= 0);
    if (!found) continue;
    ASSERT_NO_FATAL_FAILURE(expect_matched_within(drawn, found->allocation));
    const double largest = drawn.worth.empty() ? 0 : std::ranges::max(drawn.worth);
    ASSERT_NEAR(found->worth, best, 1e-12 * std::max(best, largest));
  }
}

}  // namespace
}  // namespace trainyard
