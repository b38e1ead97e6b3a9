// The cheapest cover against trying every combination.
#include "policy/preempt/cover.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "base/random.h"

namespace trainyard {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

/// By going through all choices of the machines from `first` on.
double cheapest(std::span<const CoverOffer> offers, std::size_t first, std::int32_t workers,
                std::int32_t machines) {
  if (workers <= 0) return 0;
  if (machines == 0 || first == offers.size()) return kNever;
  std::size_t end = first;
  while (end < offers.size() && offers[end].machine == offers[first].machine) ++end;
  double best = cheapest(offers, end, workers, machines);
  for (std::size_t i = first; i < end; ++i)
    best = std::min(
        best, offers[i].price + cheapest(offers, end, workers - offers[i].workers, machines - 1));
  return best;
}

TEST(Cover, IsTheCheapest) {
  for (std::uint64_t seed = 1; seed <= 3000; ++seed) {
    Random random(seed);
    std::vector<CoverOffer> offers;
    const std::size_t machines = random.below(6);
    for (std::size_t m = 0; m < machines; ++m)
      for (std::uint64_t n = random.below(4); n > 0; --n)
        offers.push_back({m, 1 + static_cast<std::int32_t>(random.below(4)),
                          static_cast<double>(random.below(6)), offers.size()});
    const auto workers = 1 + static_cast<std::int32_t>(random.below(10));
    const auto limit = 1 + static_cast<std::int32_t>(random.below(12));
    const double expected = cheapest(offers, 0, workers, limit);
    std::vector<CoverOffer> taken;
    ASSERT_EQ(cheapest_cover(offers, workers, limit, taken), expected != kNever) << "seed " << seed;
    if (expected == kNever) continue;
    double price = 0;
    std::int32_t held = 0;
    for (std::size_t i = 0; i < taken.size(); ++i) {
      price += taken[i].price;
      held += taken[i].workers;
      ASSERT_TRUE(i == 0 || taken[i - 1].machine < taken[i].machine) << "seed " << seed;
    }
    ASSERT_EQ(price, expected) << "seed " << seed;
    ASSERT_GE(held, workers) << "seed " << seed;
    ASSERT_LE(static_cast<std::int32_t>(taken.size()), limit) << "seed " << seed;
  }
}

TEST(Cover, TwoCheapMachinesBeatOneDearOne) {
  const std::vector<CoverOffer> offers{{0, 4, 3.0, 0}, {1, 2, 1.0, 1}, {2, 2, 1.5, 2}};
  std::vector<CoverOffer> taken;
  ASSERT_TRUE(cheapest_cover(offers, 4, 4, taken));
  ASSERT_EQ(taken.size(), 2U);
  EXPECT_EQ(taken[0].id, 1U);
  EXPECT_EQ(taken[1].id, 2U);
  ASSERT_TRUE(cheapest_cover(offers, 4, 1, taken));
  ASSERT_EQ(taken.size(), 1U) << "on one machine";
  EXPECT_EQ(taken[0].id, 0U);
}

}  // namespace
}  // namespace trainyard
