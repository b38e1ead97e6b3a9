// What jobs write does not fill the disk, whenever they were submitted.
#include <algorithm>

#include "live/loop/engine_reports_fixture.h"

namespace trainyard {
namespace {

constexpr std::int64_t kUsual = 1 << 20;  // of output that a worker may leave

class OutputLimit : public EngineReports {
 protected:
  OutputLimit() {
    disk = 16 * kUsual;
    world.set_scripts([](const Launch&) {
      return MemoryScript{.runs_for = hours(1), .output = std::string(kUsual, 'x')};
    });
    begin();
  }
  [[nodiscard]] std::int64_t share() const { return disk / 4; }
  std::int64_t limit_of_next(const Identity& who) {
    const JobNumber job = submit(spec(1), who);
    EXPECT_TRUE(becomes(job, "running"));
    return record(job).output_limit.value_or(-1);
  }
};

TEST_F(OutputLimit, JobsThatWereAcceptedDoNotFillTheDisk) {
  std::vector<JobNumber> jobs;
  for (int i = 0; i < 40; ++i) jobs.push_back(submit(spec(4)));
  for (const JobNumber job : jobs) {
    ASSERT_TRUE(eventually([&] { return state(job) != "queued"; }));
    ASSERT_TRUE(eventually([&] {
      pass(minutes(40));
      return state(job) == "done";
    }));
  }
  const auto use = journal->disk_use(kAda.uid);
  ASSERT_TRUE(use);
  EXPECT_GT(use->output, share() / 2);
  EXPECT_LE(use->output, share());
  EXPECT_EQ(limit_of_next(kBob), kUsual) << "who has little on disk keeps all";
}

TEST_F(OutputLimit, WhatRunsMayStillWriteCountsAlsoAfterARestart) {
  std::int64_t promised = 0;
  for (int i = 0; i < 6; ++i) {
    const std::int64_t limit = limit_of_next(kAda);
    EXPECT_GE(limit, 0);
    EXPECT_LE(limit, std::min((share() - promised) / 2, kUsual));
    promised += limit;
    if (i == 3) begin();
  }
  EXPECT_LE(promised, share());
  EXPECT_EQ(limit_of_next(kBob), kUsual);
}

TEST_F(OutputLimit, TheWorkersOfAGangShareIt) {
  JobSpec gang = spec(1);
  gang.workers = 4;
  const JobNumber job = submit(gang);
  ASSERT_TRUE(becomes(job, "running"));
  EXPECT_LE(4 * record(job).output_limit.value_or(kUsual), share() / 2);
}

TEST_F(OutputLimit, SaysIfLessIsKeptThanUsual) {
  while (limit_of_next(kAda) == kUsual) {
  }
  const auto page = master->events(kOperator, 0, {});
  EXPECT_TRUE(std::ranges::any_of(page.events, [](const LiveEvent& event) {
    return event.kind == "noted" && event.details.find("little room left") != std::string::npos;
  }));
}

}  // namespace
}  // namespace trainyard
