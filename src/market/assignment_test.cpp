#include "market/assignment.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <limits>
#include <map>

#include "base/random.h"

namespace trainyard {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

struct LaneCase {
  std::vector<Lanes> lanes;
  std::size_t kinds = 1;
  std::vector<double> takes_s;

  [[nodiscard]] std::size_t jobs() const { return takes_s.size() / kinds; }
};

/// What the places cost, by AlloX's sum.
double cost_of(const LaneCase& c, const std::vector<LanePlace>& places) {
  double sum = 0;
  for (std::size_t job = 0; job < places.size(); ++job) {
    const Lanes& lanes = c.lanes.at(places[job].lanes);
    sum += lanes.free_s + places[job].from_last * c.takes_s[job * c.kinds + lanes.kind];
  }
  return sum;
}

/// The least sum of completion times: every job on every lane by itself, the shortest first.
double least_sum(const LaneCase& c) {
  std::vector<Lanes> single;
  for (const Lanes& lanes : c.lanes)
    for (std::int32_t i = 0; i < lanes.number; ++i) single.push_back({lanes.kind, 1, lanes.free_s});
  std::size_t ways = 1;
  for (std::size_t job = 0; job < c.jobs(); ++job) ways *= single.size();
  double best = kNever;
  for (std::size_t way = 0; way < ways; ++way) {
    std::vector<std::vector<double>> on(single.size());
    for (std::size_t job = 0, rest = way; job < c.jobs(); ++job, rest /= single.size()) {
      const std::size_t lane = rest % single.size();
      on[lane].push_back(c.takes_s[job * c.kinds + single[lane].kind]);
    }
    double sum = 0;
    for (std::size_t lane = 0; lane < single.size(); ++lane) {
      std::ranges::sort(on[lane]);
      double at = single[lane].free_s;
      for (const double takes_s : on[lane]) sum += at += takes_s;
    }
    best = std::min(best, sum);
  }
  return best;
}

TEST(Assignment, ExampleOfItsHeader) {
  const LaneCase c{{{0}, {1}}, 2, {2, 4, 3, 9}};
  EXPECT_EQ(cost_of(c, assign_to_lanes(c.lanes, c.kinds, c.takes_s)), 7);
}

TEST(Assignment, DegenerateInput) {
  EXPECT_TRUE(assign_to_lanes(std::array{Lanes{}}, 1, {}).empty());
  const auto nowhere = assign_to_lanes({}, 1, std::array{1.0});
  EXPECT_EQ(nowhere[0].lanes, kNoLanes);
  const auto barred = assign_to_lanes(std::array{Lanes{}}, 2, std::array{kNever, 1.0, 5.0, kNever});
  EXPECT_EQ(barred[0].lanes, kNoLanes) << "there are no lanes of its kind";
  EXPECT_EQ(barred[1].lanes, 0U);
}

TEST(Assignment, IsAsGoodAsTheBestOfAllWays) {
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    LaneCase c{{}, 1 + random.below(3), {}};
    for (std::uint64_t groups = 1 + random.below(3); groups > 0; --groups)
      c.lanes.push_back({random.below(c.kinds), static_cast<std::int32_t>(1 + random.below(2)),
                         static_cast<double>(random.below(3) * random.below(10))});
    for (std::uint64_t jobs = 1 + random.below(5); jobs > 0; --jobs)
      for (std::size_t kind = 0; kind < c.kinds; ++kind)
        c.takes_s.push_back(kind != c.lanes[0].kind && random.below(4) == 0
                                ? kNever
                                : static_cast<double>(1 + random.below(12)));
    const std::vector<LanePlace> places = assign_to_lanes(c.lanes, c.kinds, c.takes_s);
    std::map<std::pair<std::size_t, std::int32_t>, std::int32_t> taken;
    for (const LanePlace& place : places) {
      ASSERT_NE(place.lanes, kNoLanes);
      const std::int32_t here = ++taken[{place.lanes, place.from_last}];
      EXPECT_LE(here, c.lanes[place.lanes].number);
    }
    EXPECT_DOUBLE_EQ(cost_of(c, places), least_sum(c));
  }
}

}  // namespace
}  // namespace trainyard
