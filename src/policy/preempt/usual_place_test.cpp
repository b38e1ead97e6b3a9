#include "policy/preempt/usual_place.h"

#include <gtest/gtest.h>

#include "yard/testing.h"

namespace trainyard {
namespace {

/// Twice as slow within a rack as on one machine.
class ByTier final : public PlacementSpeed {
 public:
  [[nodiscard]] Rate rate(const Job& job, const Placement& at) const override {
    return rate_at(job, at.size() > 1 ? 1 : 0);
  }
  [[nodiscard]] Rate rate_at(const Job& /*job*/, std::size_t tier) const override {
    return Rate::taking(static_cast<double>(1U << tier));
  }
};

TEST(UsualPlace, IsWhereJobsOfThatSizeStartedOfLate) {
  const Cluster cluster = *parse_cluster_shorthand("3x2xV100");
  Workload workload;
  for (int i = 0; i < 2; ++i) workload.jobs.push_back(gang(2, 1, hours(9)));
  const ByTier speed;
  Yard yard(cluster, workload, {}, &speed);
  for (std::uint32_t i = 0; i < 2; ++i)
    ASSERT_EQ(yard.apply(Event::of(Time{}, EventKind::submitted, JobId{i})), Verdict::ok);
  ASSERT_EQ(Plan(yard).start(JobId{0}, {{MachineId{0}, 2}}), Verdict::ok);
  ASSERT_EQ(Plan(yard).start(JobId{1}, {{MachineId{1}, 1}, {MachineId{2}, 1}}), Verdict::ok);
  UsualPlace usual;
  EXPECT_EQ(usual.over(yard, JobId{0}, 0), 1) << "nothing is known yet";
  usual.note(yard, JobId{0});
  EXPECT_EQ(usual.over(yard, JobId{0}, 0), 1);
  EXPECT_EQ(usual.over(yard, JobId{1}, 1), 0.5) << "the usual place would be closer";
  usual.note(yard, JobId{1});
  EXPECT_NEAR(usual.over(yard, JobId{0}, 0), 1.5, 0.01) << "every second comes to stand apart";
  UsualPlace another;
  std::vector<double> far(kMaxTiers, 0.0);
  far.back() = 3;  // a tier that this cluster does not have
  another.recall({{"places/2/", far}});
  EXPECT_EQ(another.over(yard, JobId{0}, 0), 1);
}

}  // namespace
}  // namespace trainyard
