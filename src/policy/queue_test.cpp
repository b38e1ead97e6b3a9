#include "policy/queue.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "base/random.h"

namespace trainyard {
namespace {

std::vector<std::uint32_t> collected(const Queue& queue, std::size_t limit,
                                     const std::set<std::uint32_t>& skipped = {}) {
  std::vector<Queue::Entry> entries;
  queue.collect(
      limit, [&](LaneId lane) { return skipped.contains(static_cast<std::uint32_t>(lane)); },
      entries);
  std::vector<std::uint32_t> jobs;
  for (const Queue::Entry& entry : entries) jobs.push_back(static_cast<std::uint32_t>(entry.job));
  return jobs;
}

template <class Skip>
JobId first_not(const Queue& queue, Skip skip, JobId from) {
  const auto skips_none = [](std::span<const Queue::Entry>, Queue::Least&) { return false; };
  return queue.first_not(skips_none, skip, from);
}

class QueueTest : public testing::Test {
 protected:
  QueueTest() {
    queue.insert({50, JobId{0}, LaneId{0}});
    queue.insert({10, JobId{1}, LaneId{1}});
    queue.insert({20, JobId{2}, LaneId{0}});
    queue.insert({20, JobId{3}, LaneId{2}});
  }
  Queue queue;
};

TEST_F(QueueTest, ByKeyAndTiesByNumber) {
  EXPECT_EQ(queue.front().job, JobId{1});
  EXPECT_EQ(collected(queue, 10), (std::vector{1U, 2U, 3U, 0U}));
  EXPECT_EQ(queue.place(JobId{1}), 1U);
  EXPECT_EQ(queue.place(JobId{3}), 3U);
  EXPECT_EQ(queue.place(JobId{0}), 4U);
}

TEST_F(QueueTest, CollectTakesTheFirstAcrossLanes) {
  EXPECT_EQ(collected(queue, 2), (std::vector{1U, 2U}));
  EXPECT_EQ(collected(queue, 10, {0}), (std::vector{1U, 3U}));
  EXPECT_EQ(collected(queue, 10, {0, 1, 2}), std::vector<std::uint32_t>{});
}

TEST_F(QueueTest, FirstNotGoesOnFromAJobThatWaitsOrDid) {
  const auto none = [](const Queue::Entry&) { return false; };
  const auto lane_1 = [](const Queue::Entry& entry) { return entry.lane == LaneId{1}; };
  EXPECT_EQ(first_not(queue, none, JobId{1}), JobId{1});
  EXPECT_EQ(first_not(queue, lane_1, JobId{1}), JobId{2});
  EXPECT_EQ(first_not(
                queue, [](const Queue::Entry&) { return true; }, JobId{1}),
            kNoJob);
  queue.erase(JobId{2});
  EXPECT_EQ(first_not(queue, none, JobId{2}), JobId{3});
  queue.erase(JobId{3});
  EXPECT_EQ(first_not(queue, none, JobId{3}), JobId{0});
  queue.erase(JobId{0});
  EXPECT_EQ(first_not(queue, none, JobId{0}), kNoJob);
}

TEST_F(QueueTest, CountsOvertakingsWithinALane) {
  EXPECT_EQ(queue.overtakings(LaneId{0}), 1U) << "job 2 came before job 0";
  queue.insert({60, JobId{4}, LaneId{0}});
  EXPECT_EQ(queue.overtakings(LaneId{0}), 1U);
  queue.move({30, JobId{4}, LaneId{0}});
  EXPECT_EQ(queue.overtakings(LaneId{0}), 2U);
  EXPECT_EQ(queue.overtakings(LaneId{1}), 0U);
}

TEST_F(QueueTest, TheNextOfALaneTakesTheHeadsPlace) {
  queue.erase(JobId{2});
  EXPECT_EQ(collected(queue, 10), (std::vector{1U, 3U, 0U}));
  queue.erase(JobId{1});
  EXPECT_EQ(queue.front().job, JobId{3});
  EXPECT_EQ(queue.size(), 2U);
}

TEST_F(QueueTest, ANewKeyMovesAJob) {
  queue.move({5, JobId{0}, LaneId{0}});
  EXPECT_EQ(queue.front().job, JobId{0});
  queue.move({20, JobId{0}, LaneId{0}});
  EXPECT_EQ(collected(queue, 10), (std::vector{1U, 0U, 2U, 3U}));
}

TEST_F(QueueTest, AppendsToWhatWasCollected) {
  std::vector<Queue::Entry> entries{{99, JobId{9}, LaneId{9}}};
  queue.collect(
      1, [](LaneId) { return false; }, entries);
  ASSERT_EQ(entries.size(), 2U);
  EXPECT_EQ(entries[0].job, JobId{9});
  EXPECT_EQ(entries[1].job, JobId{1});
}

TEST(Queue, AgreesWithASortedList) {
  Random random(11);
  Queue queue;
  std::set<std::pair<std::int64_t, std::uint32_t>> twin;
  std::map<std::uint32_t, std::int64_t> key_of;
  for (int step = 0; step < 4000; ++step) {
    const auto job = static_cast<std::uint32_t>(random.below(300));
    const auto key = static_cast<std::int64_t>(random.below(50));
    if (!key_of.contains(job)) {
      queue.insert({key, JobId{job}, LaneId{job % 7}});
      twin.emplace(key, job), key_of[job] = key;
    } else if (random.uniform() < 0.4) {
      queue.move({key, JobId{job}, LaneId{job % 7}});
      twin.erase({key_of[job], job});
      twin.emplace(key, job), key_of[job] = key;
    } else {
      queue.erase(JobId{job});
      twin.erase({key_of[job], job}), key_of.erase(job);
    }
    ASSERT_EQ(queue.size(), twin.size()) << "step " << step << " of seed 11";
    ASSERT_EQ(queue.empty(), twin.empty());
    if (twin.empty()) continue;
    ASSERT_EQ(queue.front().job, JobId{twin.begin()->second});
    const auto limit = 1 + random.below(twin.size());
    const auto skipped = static_cast<std::uint32_t>(random.below(7));
    std::vector<std::uint32_t> expected;
    for (const auto& [k, j] : twin)
      if (j % 7 != skipped && expected.size() < limit) expected.push_back(j);
    ASSERT_EQ(collected(queue, limit, {skipped}), expected) << "step " << step;
    const auto someone = std::next(twin.begin(), static_cast<std::ptrdiff_t>(limit - 1));
    ASSERT_EQ(queue.place(JobId{someone->second}), limit);
  }
}

}  // namespace
}  // namespace trainyard
