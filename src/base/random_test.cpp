// The distributions against the moments that theory gives them. Seeds are fixed, so a bound of five
// standard errors either holds for ever or never did.
#include "base/random.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace trainyard {
namespace {

constexpr int kDraws = 200'000;

struct Moments {
  double mean = 0, deviation = 0;
};

template <class Draw>
Moments moments(Draw draw) {
  double sum = 0, squares = 0;
  for (int i = 0; i < kDraws; ++i) {
    const double x = draw();
    sum += x, squares += x * x;
  }
  const double mean = sum / kDraws;
  return {mean, std::sqrt(squares / kDraws - mean * mean)};
}

void expect_moments(const Moments& found, const Moments& theory) {
  const double error = theory.deviation / std::sqrt(kDraws);
  EXPECT_NEAR(found.mean, theory.mean, 5 * error);
  EXPECT_NEAR(found.deviation, theory.deviation, 0.02 * theory.deviation);
}

TEST(Random, ASeedMeansTheSameEverywhere) {
  Random random(42, 7);
  const std::vector<std::uint64_t> first{random.bits(), random.bits(), random.bits()};
  EXPECT_EQ(first, (std::vector<std::uint64_t>{5494554299561933008ULL, 10829811244735216246ULL,
                                               7663910190684223545ULL}));
}

TEST(Random, SeedsAndStreamsDiffer) {
  Random a(1, 0), same(1, 0), other_stream(1, 1), other_seed(2, 0);
  const auto first = a.bits();
  EXPECT_EQ(first, same.bits());
  EXPECT_NE(first, other_stream.bits());
  EXPECT_NE(first, other_seed.bits());
}

TEST(Random, UniformStaysBelowOne) {
  Random random(1);
  double low = 1, high = 0;
  expect_moments(moments([&] {
                   const double x = random.uniform();
                   low = std::min(low, x), high = std::max(high, x);
                   return x;
                 }),
                 {0.5, std::sqrt(1.0 / 12)});
  EXPECT_GE(low, 0);
  EXPECT_LT(high, 1);
  expect_moments(moments([&] { return random.uniform(-3, 5); }), {1, 8 * std::sqrt(1.0 / 12)});
}

TEST(Random, BelowIsUnbiased) {
  Random random(2);
  EXPECT_EQ(random.below(1), 0U);
  constexpr int kSides = 7;
  std::array<int, kSides> counts{};
  for (int i = 0; i < kDraws; ++i) ++counts.at(random.below(kSides));
  double chi_squared = 0;
  for (const int count : counts) {
    constexpr double kExpected = static_cast<double>(kDraws) / kSides;
    chi_squared += (count - kExpected) * (count - kExpected) / kExpected;
  }
  EXPECT_LT(chi_squared, 22.5) << "p < 0.001 at 6 degrees of freedom";
}

// At n = 3 * 2^62 a plain remainder would make the lower third twice as likely as the rest.
TEST(Random, BelowIsUnbiasedForHugeRanges) {
  Random random(3);
  constexpr std::uint64_t kThird = 1ULL << 62;
  int low = 0;
  for (int i = 0; i < kDraws; ++i) low += random.below(3 * kThird) < kThird ? 1 : 0;
  EXPECT_NEAR(low, kDraws / 3.0, 5 * std::sqrt(kDraws * 2.0 / 9));
}

TEST(Random, Exponential) {
  Random random(4);
  expect_moments(moments([&] { return random.exponential(30); }), {30, 30});
}

TEST(Random, Normal) {
  Random random(5);
  int within_one = 0;
  expect_moments(moments([&] {
                   const double x = random.normal(-2, 3);
                   within_one += std::abs(x + 2) < 3 ? 1 : 0;
                   return x;
                 }),
                 {-2, 3});
  EXPECT_NEAR(static_cast<double>(within_one) / kDraws, 0.6827, 0.006);
}

TEST(Random, Lognormal) {
  Random random(6);
  const double mean = std::exp(1 + 0.5 * 0.5 / 2);
  expect_moments(moments([&] { return random.lognormal(1, 0.5); }),
                 {mean, mean * std::sqrt(std::exp(0.5 * 0.5) - 1)});
}

// Between -1 and 1 deviations: mean unchanged, variance 1 - 2 phi(1) / (2 Phi(1) - 1) = 0.29112.
TEST(Random, TruncatedNormal) {
  Random random(7);
  expect_moments(moments([&] {
                   const double x = random.truncated_normal(10, 2, 8, 12);
                   EXPECT_TRUE(x >= 8 && x <= 12);
                   return x;
                 }),
                 {10, 2 * std::sqrt(0.29112)});
}

TEST(Random, PicksByWeight) {
  Random random(8);
  constexpr std::array kWeights{1.0, 0.0, 3.0, 6.0};
  std::array<int, 4> counts{};
  for (int i = 0; i < kDraws; ++i) ++counts.at(random.pick(kWeights));
  EXPECT_EQ(counts[1], 0);
  for (std::size_t i = 0; i < kWeights.size(); ++i)
    EXPECT_NEAR(static_cast<double>(counts.at(i)) / kDraws, kWeights.at(i) / 10, 0.006);
  EXPECT_EQ(random.pick(std::array{5.0}), 0U);
}

}  // namespace
}  // namespace trainyard
