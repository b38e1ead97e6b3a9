// Who ranks behind, and when there is room by itself: the examples of the headers.
#include "policy/preempt/behind.h"

#include <gtest/gtest.h>

#include "policy/preempt/first_room.h"
#include "yard/testing.h"

namespace trainyard {
namespace {

TEST(Behind, TheExampleOfTheHeader) {
  HandYard h(*parse_cluster_shorthand("2x8xV100"), {.min_run = {}});
  const auto estimates = make_estimator(h.yard, "declared", 0, 1);
  Behind behind(h.yard, *estimates);
  const auto run = [&](Job job, std::uint32_t machine) {
    const JobId id = h.running(job, machine);
    behind.add(id, job.gpus());
    return id;
  };
  const JobId a = run(gang(1, 1, hours(3)), 0), b = run(gang(8, 1, minutes(30)), 1);
  const JobId c = run(gang(1, 1, hours(2)), 0);
  const auto listed = [&] {
    EXPECT_EQ(behind.enough(17, kRackTier, 0), 0U) << "there are 16";
    std::vector<JobId> jobs;
    for (const Behind::Entry& entry : behind.listed()) jobs.push_back(entry.job);
    return jobs;
  };
  EXPECT_EQ(listed(), (std::vector{b, a, c}));
  h.at(minutes(15));
  EXPECT_EQ(listed(), (std::vector{a, b, c}));
  const double two_hours = 2 * 3600e6;
  EXPECT_TRUE(behind.hold(10, 0));
  EXPECT_FALSE(behind.hold(11, 0)) << "all of them hold 10";
  EXPECT_TRUE(behind.hold(1, two_hours)) << "a has 2:45";
  EXPECT_FALSE(behind.hold(2, two_hours)) << "b has 2 h, and no more";
  EXPECT_EQ(behind.enough(8, kMachineTier, 0), 2U) << "with b the second machine is free";
  EXPECT_EQ(behind.enough(8, kMachineTier, two_hours), 0U);
}

TEST(FirstRoom, TheExampleOfTheHeader) {
  HandYard h("2x4xV100");
  const auto estimates = make_estimator(h.yard, "declared", 0, 1);
  FirstRoom first(h.yard, *estimates);
  const auto run = [&](const Job& job, std::uint32_t machine) {
    const JobId id = h.running(job, machine);
    first.add(id, estimates->rank(id));
  };
  run(gang(2, 1, hours(1)), 0), run(gang(2, 1, hours(3)), 0), run(gang(3, 1, hours(2)), 1);
  EXPECT_EQ(first.until(2, kMachineTier), 3600e6);
  EXPECT_EQ(first.until(4, kMachineTier), 2 * 3600e6);
  EXPECT_EQ(first.until(5, kMachineTier), std::numeric_limits<double>::infinity());
  EXPECT_EQ(first.until(5, kRackTier), 2 * 3600e6) << "1 is free, and 2 + 3 come";
}

}  // namespace
}  // namespace trainyard
