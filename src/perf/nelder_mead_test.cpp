#include "perf/nelder_mead.h"

#include <gtest/gtest.h>

namespace trainyard {
namespace {

TEST(NelderMead, FindsTheBottomOfABowl) {
  const auto bowl = [](const std::vector<double>& x) {
    return (x[0] - 3) * (x[0] - 3) + 10 * (x[1] + 1) * (x[1] + 1) + 5;
  };
  const Minimum found = minimise(bowl, {0, 0}, 1, 500);
  EXPECT_NEAR(found.at[0], 3, 1e-3);
  EXPECT_NEAR(found.at[1], -1, 1e-3);
  EXPECT_NEAR(found.value, 5, 1e-6);
}

TEST(NelderMead, FollowsACurvedValley) {
  const auto rosenbrock = [](const std::vector<double>& x) {
    return 100 * std::pow(x[1] - x[0] * x[0], 2) + std::pow(1 - x[0], 2);
  };
  const Minimum found = minimise(rosenbrock, {-1.2, 1}, 0.5, 2000);
  EXPECT_NEAR(found.at[0], 1, 1e-2);
  EXPECT_NEAR(found.at[1], 1, 1e-2);
}

TEST(NelderMead, NeverEndsAboveWhereItBegan) {
  const auto ridge = [](const std::vector<double>& x) { return -std::abs(x[0]); };
  EXPECT_LE(minimise(ridge, {2}, 1, 3).value, -2);
  EXPECT_EQ(minimise(ridge, {2}, 1, 0).value, -3) << "the better end of the first simplex";
}

}  // namespace
}  // namespace trainyard
