// What one user has on disk keeps nobody else from submitting.
#include "live/loop/disk_budget.h"

#include <gmock/gmock.h>

#include "live/loop/yardmaster_fixture.h"

namespace trainyard {
namespace {

using testing::HasSubstr;

constexpr std::int64_t kMiB = 1 << 20;

TEST(DiskBudget, OneUserHasAQuarter) {
  const AllDiskUse all{{.scripts = 10 * kMiB}, 1};
  EXPECT_TRUE(check_disk_budget({.scripts = 9 * kMiB}, all, {.scripts = kMiB}, 40 * kMiB));
  const auto refused = check_disk_budget({.scripts = 10 * kMiB}, all, {.scripts = kMiB}, 40 * kMiB);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, Refusal::Kind::conflict);
  EXPECT_EQ(refused.error().message,
            "your jobs take 10.0 MiB of the daemon's disk (scripts and environments 10.0 MiB, "
            "output 0.0 MiB, history 0.0 MiB), and this would take 1.0 MiB more; a user may have "
            "10.0 MiB: cancel jobs that wait: a job's script goes when it ends; or an operator can "
            "raise `serve --disk`");
}

TEST(DiskBudget, WhereAllHaveTooMuchThoseAboveTheAverageWait) {
  const AllDiskUse all{{.output = 40 * kMiB}, 5};
  EXPECT_TRUE(check_disk_budget({.output = 6 * kMiB}, all, {.scripts = kMiB}, 40 * kMiB));
  const auto refused = check_disk_budget({.output = 8 * kMiB}, all, {.scripts = kMiB}, 40 * kMiB);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, Refusal::Kind::unavailable);
  EXPECT_THAT(refused.error().message, HasSubstr("an equal share of 8.0 MiB"));
  EXPECT_THAT(refused.error().message, HasSubstr("output of ended jobs goes after"));
}

class DiskBudgetTest : public YardmasterTest {
 protected:
  DiskBudgetTest() {
    disk = 16 * kMiB;
    begin();
  }
  [[nodiscard]] JobSpec large() const {
    JobSpec job = spec(1);
    job.script = "#!/bin/sh\n" + std::string(kMiB, 'x');
    return job;
  }
};

TEST_F(DiskBudgetTest, WhoFillsTheirsKeepsNobodyOutAndHasItBackAtOnce) {
  run(submit(spec(4), kBob));
  std::vector<JobNumber> jobs;  // that wait
  auto next = master->submit(kAda, large());
  for (; next; next = master->submit(kAda, large())) jobs.push_back(next->number);
  EXPECT_EQ(jobs.size(), 3U);
  EXPECT_THAT(next.error().message, HasSubstr("a user may have 4.0 MiB"));
  EXPECT_TRUE(master->submit(kBob, large()));
  ASSERT_TRUE(master->cancel(kAda, jobs));
  EXPECT_TRUE(master->submit(kAda, large()));
}

TEST_F(DiskBudgetTest, HoldsOverARestart) {
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(master->submit(kAda, large()));
  begin();
  EXPECT_FALSE(master->submit(kAda, large()));
}

TEST_F(DiskBudgetTest, TasksOfAnArrayCountBeforeTheyHaveRows) {
  admitted_at_once = 0;
  begin();
  JobSpec many = spec(1);
  many.array = "1-1500";
  ASSERT_TRUE(master->submit(kAda, many));
  const auto refused = master->submit(kAda, many);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("a user may have 4.0 MiB"));
}

TEST_F(DiskBudgetTest, OutputCountsFromTheEndOfARun) {
  const JobNumber job = submit(spec(1));
  run(job);
  RunReport end;
  end.kind = Kind::exited, end.id = {job, 1}, end.output_bytes = 5 * kMiB;
  engine->report(end);
  ASSERT_TRUE(becomes(job, "done"));
  const auto refused = master->submit(kAda, spec(1));
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("output 5.0 MiB"));
  EXPECT_TRUE(master->submit(kBob, spec(1)));
}

}  // namespace
}  // namespace trainyard
