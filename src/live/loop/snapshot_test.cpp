// What callers are shown while the scheduler works, and what it keeps of jobs
// that have ended.
#include <gtest/gtest.h>

#include <future>

#include "live/loop/yardmaster_fixture.h"

namespace trainyard {
namespace {

class SnapshotTest : public YardmasterTest {
 protected:
  std::size_t listed(const Identity& who = kAda) { return master->jobs(who, {})->jobs.size(); }
};

TEST_F(SnapshotTest, WhoIsAnsweredSeesWhatTheyDid) {
  run(submit(spec(4)));
  for (int round = 0; round < 30; ++round) {
    const JobNumber job = submit(spec(4));
    EXPECT_EQ(state(job), "queued");
    EXPECT_EQ(master->jobs(kAda, {})->jobs.front().number, job);
    EXPECT_EQ(master->cluster(kAda)->queued, 1U);
    ASSERT_TRUE(master->cancel(kAda, {job}));
    EXPECT_EQ(state(job), "cancelled");
    EXPECT_EQ(master->cluster(kAda)->queued, 0U);
  }
  ASSERT_TRUE(master->close_machine(kOperator, "r0m0"));
  EXPECT_EQ(master->cluster(kAda)->machines[0].state, "closed");
  ASSERT_TRUE(master->set_policy(kOperator, {"sjf", {}}));
  EXPECT_EQ(master->policy(kAda)->policy, "sjf");
}

/// The disk holds a commit for as long as the test likes, and everything can be
/// looked at.
TEST_F(SnapshotTest, NobodyWhoLooksWaitsForTheDisk) {
  const JobNumber first = submit(spec(4));
  run(first);
  system.hold("journal.commit");
  auto waiting = std::async(std::launch::async, [&] { return submit(spec(1)); });
  system.wait_for_hold();
  EXPECT_EQ(listed(), 1U) << "the other is not acknowledged yet";
  EXPECT_EQ(state(first), "running");
  EXPECT_EQ(*master->find(kAda, {first, {}}), std::vector<JobNumber>{first});
  EXPECT_EQ(master->cluster(kAda)->running, 1U);
  EXPECT_EQ(master->cluster(kAda)->machines[0].by_gpu, std::vector<JobNumber>(4, first));
  EXPECT_EQ(master->policy(kAda)->policy, "fitgpp");
  EXPECT_EQ(master->counters().submitted, 1U);
  EXPECT_TRUE(master->logs(kAda, first, 0, 0, 0));
  EXPECT_TRUE(master->history(kAda, {}));
  EXPECT_FALSE(master->events(kAda, 0, {}).events.empty());
  system.go_on();
  EXPECT_EQ(waiting.get(), 2);
  EXPECT_EQ(listed(), 2U);
}

/// The second write of a turn fails: what the first one wrote is shown, and not
/// what followed.
TEST_F(SnapshotTest, WhatIsShownIsOnDisk) {
  run(submit(spec(4)));
  engine->report(Kind::exited, {1, 1}, 0);
  ASSERT_TRUE(becomes(1, "done"));
  system.hold("journal.commit");
  auto waiting = std::async(std::launch::async, [&] { return submit(spec(1)); });
  system.wait_for_hold();
  system.fail_at("journal.commit", "database or disk is full");
  system.go_on();
  EXPECT_EQ(waiting.get(), 2) << "it is on disk";
  EXPECT_EQ(state(2), "held");
  EXPECT_EQ(listed(), 2U);
  EXPECT_FALSE(master->counters().accepting);
  EXPECT_FALSE(engine->was_told("start 2.1"));
  system.heal();
  EXPECT_TRUE(told("start 2.1"));
  EXPECT_TRUE(becomes(2, "starting"));
}

TEST_F(SnapshotTest, ListsHaveJobsThatRunAndJobsThatHaveEnded) {
  for (int i = 0; i < 9; ++i) submit(spec(4));
  for (const JobNumber job : {1, 2, 3}) {
    run(job);
    engine->report(Kind::exited, {job, 1}, job == 2 ? 1 : 0);
    ASSERT_TRUE(becomes(job, job == 2 ? "failed" : "done"));
  }
  ASSERT_TRUE(master->cancel(kAda, {6, 8}));
  const auto numbers = [&](const JobFilter& filter) {
    std::vector<JobNumber> found;
    const JobPage page = *master->jobs(kAda, filter);
    for (const JobRecord& job : page.jobs) found.push_back(job.number);
    return found;
  };
  using Numbers = std::vector<JobNumber>;
  JobFilter filter;
  EXPECT_EQ(numbers(filter), (Numbers{9, 8, 7, 6, 5, 4, 3, 2, 1}));
  filter.limit = 3;
  EXPECT_EQ(numbers(filter), (Numbers{9, 8, 7}));
  EXPECT_TRUE(master->jobs(kAda, filter)->more);
  filter.before = 7;
  EXPECT_EQ(numbers(filter), (Numbers{6, 5, 4}));
  EXPECT_TRUE(master->jobs(kAda, filter)->more);
  filter.before = 4;
  EXPECT_EQ(numbers(filter), (Numbers{3, 2, 1}));
  EXPECT_FALSE(master->jobs(kAda, filter)->more);
  filter = {};
  filter.states = {Phase::queued, Phase::failed, Phase::cancelled};
  EXPECT_EQ(numbers(filter), (Numbers{9, 8, 7, 6, 5, 2}));
  filter.fold = true;
  filter.limit = 4;
  EXPECT_EQ(numbers(filter), (Numbers{9, 8, 7, 6}));
  EXPECT_TRUE(master->jobs(kAda, filter)->more);
  filter = {};
  filter.user = "bob";
  EXPECT_TRUE(numbers(filter).empty());
}

/// Thousands of short jobs, a few hundred at a time.
TEST_F(SnapshotTest, JobsThatHaveEndedLeaveMemory) {
  begin("1x500xV100");
  constexpr std::uint64_t kArrays = 3, kTasks = 5'000;
  for (std::uint64_t array = 0; array < kArrays; ++array) {
    JobSpec many = spec();
    many.array = fmt::format("1-{}", kTasks);
    const JobNumber number = submit(many);
    const std::uint64_t all = (array + 1) * kTasks;
    while (master->counters().done < all) {
      const auto lines = engine->take_log();
      for (const std::string& line : lines) {
        if (!line.starts_with("start ")) continue;
        const JobNumber job = std::stoll(line.substr(6));
        engine->report(Kind::started, {job, 1});
        engine->report(Kind::exited, {job, 1}, 0);
      }
      if (lines.empty()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    EXPECT_EQ(state(number + 1), "done") << "found in the journal";
  }
  EXPECT_EQ(master->cluster(kAda)->queued + master->cluster(kAda)->running, 0U);
  EXPECT_LE(master->counters().in_memory, 10'000U) << "of " << kArrays * kTasks;
  run(submit(spec()));
}

}  // namespace
}  // namespace trainyard
