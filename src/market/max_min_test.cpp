#include "market/max_min.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <limits>

#include "base/random.h"

namespace trainyard {
namespace {

struct TimeSharing {
  std::array<std::int32_t, 2> gpus{};
  std::vector<std::int32_t> gangs = {};
  std::vector<double> rate = {};  // by job and kind, in thousandths of its best

  /// What all the time on a kind is worth to the job.
  [[nodiscard]] double worth(std::size_t job, std::size_t kind) const {
    const double even = rate[2 * job] * gpus[0] + rate[2 * job + 1] * gpus[1];
    return rate[2 * job + kind] * gangs[job] * (gpus[0] + gpus[1]) / even;
  }
  [[nodiscard]] double least(const std::vector<double>& shares) const {
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t job = 0; job < gangs.size(); ++job)
      least =
          std::min(least, shares[2 * job] * worth(job, 0) + shares[2 * job + 1] * worth(job, 1));
    return least;
  }
};

/// The least that it takes of a job's GPUs to be worth z to it, where GPUs of the kinds have these
/// prices: at a corner of what it may have.
double price_of(const TimeSharing& sharing, std::size_t job, double z, double price, double other) {
  const double a = sharing.worth(job, 0), b = sharing.worth(job, 1);
  double best = std::numeric_limits<double>::infinity();
  const auto corner = [&](double x, double y) {
    if (x < 0 || y < 0 || x + y > 1 + 1e-12 || a * x + b * y < z - 1e-12) return;
    best = std::min(best, sharing.gangs[job] * (price * x + other * y));
  };
  if (a > 0) corner(z / a, 0);
  if (b > 0) corner(0, z / b);
  if (a != b) corner((z - b) / (a - b), (a - z) / (a - b));
  return best;
}

/// Whether each can have z: if at all prices what that costs is no more than what there is. What is
/// over is convex in the price.
bool all_can_have(const TimeSharing& sharing, double z) {
  const auto over = [&](double price) {
    double rest = price * sharing.gpus[0] + (1 - price) * sharing.gpus[1];
    for (std::size_t job = 0; job < sharing.gangs.size(); ++job)
      rest -= price_of(sharing, job, z, price, 1 - price);
    return rest;
  };
  double low = 0, high = 1;
  for (int i = 0; i < 100; ++i) {
    const double left = low + (high - low) / 3, right = high - (high - low) / 3;
    if (over(left) < 0 || over(right) < 0) return false;
    (over(left) < over(right) ? high : low) = over(left) < over(right) ? right : left;
  }
  return over(low) >= -1e-9;
}

double largest_least(const TimeSharing& sharing) {
  double low = 0, high = 1e6;
  for (int i = 0; i < 100; ++i) {
    const double middle = (low + high) / 2;
    (all_can_have(sharing, middle) ? low : high) = middle;
  }
  return low;
}

TEST(MaxMin, ExampleOfItsHeader) {
  const std::vector<double> shares =
      max_min_shares(std::array{1, 1}, std::array{1, 1}, std::array{3.0, 1.0, 1.0, 1.0});
  EXPECT_NEAR(shares[0], 1, 1e-6);
  EXPECT_NEAR(shares[1], 0, 1e-6);
  EXPECT_NEAR(shares[2], 0, 1e-6);
  EXPECT_NEAR(shares[3], 1, 1e-6);
}

TEST(MaxMin, AJobOfFourGpusRunsAQuarterOfTheTimeOfOneOfOne) {
  const std::vector<double> shares = max_min_shares(
      std::array{4}, std::array{4, 1, 1, 1, 1, 1, 1, 1}, std::vector<double>(8, 1.0));
  EXPECT_NEAR(shares[0], 0.125, 1e-6);
  for (std::size_t job = 1; job < 8; ++job) EXPECT_NEAR(shares[job], 0.5, 1e-6);
}

TEST(MaxMin, DegenerateInput) {
  EXPECT_TRUE(max_min_shares(std::array{4}, {}, {}).empty());
  // Too large for any kind, slow everywhere, on a kind without GPUs; the last has all it can have.
  const std::vector<double> shares = max_min_shares(
      std::array{2, 0}, std::array{3, 1, 1, 1}, std::array{1.0, 1.0, 0.0, 0.0, 0.0, 1.0, 1.0, 0.0});
  EXPECT_EQ(shares, (std::vector<double>{0, 0, 0, 0, 0, 0, 1, 0}));
}

TEST(MaxMin, TheLeastIsTheLargestThereIs) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    TimeSharing sharing{{static_cast<std::int32_t>(1 + random.below(8)),
                         static_cast<std::int32_t>(1 + random.below(8))}};
    const std::int32_t smaller = std::min(sharing.gpus[0], sharing.gpus[1]);
    for (std::uint64_t jobs = 1 + random.below(12); jobs > 0; --jobs) {
      sharing.gangs.push_back(1 + static_cast<std::int32_t>(random.below(smaller)));
      const auto worse = static_cast<double>(random.below(5) == 0 ? 0 : random.below(1001));
      const bool first = random.below(2) == 0;
      sharing.rate.push_back(first ? 1000 : worse);
      sharing.rate.push_back(first ? worse : 1000);
    }
    const std::vector<double> shares = max_min_shares(sharing.gpus, sharing.gangs, sharing.rate);
    std::array<double, 2> used{};
    for (std::size_t job = 0; job < sharing.gangs.size(); ++job) {
      EXPECT_LE(shares[2 * job] + shares[2 * job + 1], 1 + 1e-6);
      for (std::size_t kind = 0; kind < 2; ++kind)
        used[kind] += shares[2 * job + kind] * sharing.gangs[job];
    }
    for (std::size_t kind = 0; kind < 2; ++kind) EXPECT_LE(used[kind], sharing.gpus[kind] + 1e-6);
    EXPECT_NEAR(sharing.least(shares) / largest_least(sharing), 1, 1e-5);
  }
}

}  // namespace
}  // namespace trainyard
