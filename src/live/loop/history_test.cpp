// Jobs that have ended, as a workload for the simulator.
#include <gmock/gmock.h>

#include "live/loop/yardmaster_fixture.h"
#include "workload/read.h"

namespace trainyard {
namespace {

using testing::HasSubstr;

TEST_F(YardmasterTest, HistoryIsAWorkload) {
  JobSpec two = spec(2);
  two.gpu_kind = "v100";
  const JobNumber job = submit(two);
  run(job);
  system.pass(minutes(5));
  engine->report(Kind::exited, {job, 1}, 0);
  ASSERT_TRUE(becomes(job, "done"));
  const std::string csv = history(kAda);
  EXPECT_THAT(csv, HasSubstr("id,user,"));
  EXPECT_THAT(csv, HasSubstr("1,ada,"));
  EXPECT_THAT(csv, HasSubstr(",V100,")) << "as the cluster calls it";
  EXPECT_EQ(history(kBob).find("ada"), std::string::npos);
}

/// It comes in parts, of which some may have nothing to tell; a clock that was set back in between
/// makes no job of it come before the first.
TEST_F(YardmasterTest, ALongHistoryIsOneWorkload) {
  constexpr JobNumber kJobs = 1700, kNeverRan = 600, kSetBack = 1500;
  master.reset();
  std::vector<JobRecord> jobs(kJobs);
  JournalChange change;
  for (JobNumber number = 1; number <= kJobs; ++number) {
    JobRecord& job = jobs[static_cast<std::size_t>(number - 1)];
    job.number = number;
    job.owner = kAda;
    job.spec = spec(number % 3 == 0 ? 2 : 1);
    if (number % 5 == 0) job.spec.max_workers = 3;
    if (number % 7 == 0) job.spec.model = "bert, large";
    job.submitted = Time{} + days(number < kSetBack ? 20'000 : 19'000) + seconds(number);
    job.life.state.phase = Phase::done;
    if (number > kNeverRan) job.life.state.done = seconds(number);
    change.submitted.push_back(&job);
    change.changed.push_back(&job);
  }
  ASSERT_TRUE(journal->commit(change));
  begin();
  const auto workload = parse_workload(history(kOperator), "history", {.format = "native"});
  ASSERT_TRUE(workload) << workload.error().message;
  ASSERT_EQ(workload->jobs.size(), static_cast<std::size_t>(kJobs - kNeverRan));
  EXPECT_EQ(workload->pause_costs, PauseCosts::given);
  std::map<std::string, Job> by_name;
  for (std::size_t i = 0; i < workload->jobs.size(); ++i)
    by_name[workload->names[i]] = workload->jobs[i];
  EXPECT_EQ(by_name.at("601").submit, Time{});
  EXPECT_EQ(by_name.at("610").submit, Time{} + seconds(9));
  EXPECT_EQ(by_name.at("610").max_workers, 3);
  EXPECT_EQ(by_name.at("612").per_worker.gpus, 2);
  EXPECT_EQ(by_name.at("700").duration, seconds(700));
  EXPECT_EQ(by_name.at("1600").submit, Time{}) << "it was submitted by a clock that was set back";
}

}  // namespace
}  // namespace trainyard
