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
  EXPECT_EQ(usual.slower(yard, JobId{0}, 0), 0) << "nothing is known yet";
  usual.note(yard, JobId{0});
  EXPECT_EQ(usual.slower(yard, JobId{0}, 0), 0);
  EXPECT_EQ(usual.slower(yard, JobId{1}, 1), -0.5) << "the usual place would be closer";
  usual.note(yard, JobId{1});
  EXPECT_NEAR(usual.slower(yard, JobId{0}, 0), 0.5, 0.01) << "every second comes to stand apart";
  UsualPlace another;
  std::vector<double> far(kMaxTiers, 0.0);
  far.back() = 3;  // a tier that this cluster does not have
  another.recall({{"places/2/", far}});
  EXPECT_EQ(another.slower(yard, JobId{0}, 0), 0);
}

/// Takes 1 s and a third for a unit of work wherever it is.
class Even final : public PlacementSpeed {
 public:
  [[nodiscard]] Rate rate(const Job& job, const Placement&) const override {
    return rate_at(job, 0);
  }
  [[nodiscard]] Rate rate_at(const Job& /*job*/, std::size_t /*tier*/) const override {
    return Rate::taking(4.0 / 3);
  }
};

TEST(UsualPlace, IsNoSlowerByRounding) {
  const Cluster cluster = *parse_cluster_shorthand("1x2xV100");
  Workload workload;
  workload.jobs.push_back(gang(2, 1, hours(9)));
  const Even speed;
  Yard yard(cluster, workload, {}, &speed);
  ASSERT_EQ(yard.apply(Event::of(Time{}, EventKind::submitted, JobId{0})), Verdict::ok);
  ASSERT_EQ(Plan(yard).start(JobId{0}, {{MachineId{0}, 2}}), Verdict::ok);
  UsualPlace usual;
  for (int starts = 0; starts < 100; ++starts) {
    usual.note(yard, JobId{0});
    EXPECT_EQ(usual.slower(yard, JobId{0}, 0), 0);
  }
}

}  // namespace
}  // namespace trainyard
