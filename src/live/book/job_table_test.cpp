#include "live/book/job_table.h"

#include <gtest/gtest.h>

#include <map>

#include "base/random.h"

namespace trainyard {
namespace {

JobRecord numbered(JobNumber number, std::uint32_t runs = 0) {
  JobRecord made;
  made.number = number, made.runs = runs;
  return made;
}

std::vector<JobNumber> newest_first(const JobTable& table, JobNumber before, std::size_t most) {
  std::vector<JobNumber> numbers;
  table.each_newest_first(before, [&](const JobRecord& job) {
    numbers.push_back(job.number);
    return numbers.size() < most;
  });
  return numbers;
}

TEST(JobTable, WhatIsChangedAfterwardsDoesNotReachACopy) {
  JobTable table;
  table.put(numbered(1)), table.put(numbered(2));
  const JobTable before = table.share();
  table.edit(1).runs = 7;
  table.edit(1).restarts = 3;
  table.erase(2);
  table.put(numbered(3));
  EXPECT_EQ(before.find(1)->runs, 0U);
  EXPECT_NE(before.find(2), nullptr);
  EXPECT_EQ(before.find(3), nullptr);
  EXPECT_EQ(before.size(), 2U);
  EXPECT_EQ(table.find(1)->runs, 7U);
  EXPECT_EQ(table.find(1)->restarts, 3U);
  EXPECT_EQ(table.numbers(), (std::vector<JobNumber>{1, 3}));
}

/// What makes a snapshot of 100,000 jobs cheap.
TEST(JobTable, ACopySharesAllThatDidNotChange) {
  constexpr JobNumber kJobs = 10'000;
  JobTable table;
  for (JobNumber n = 1; n <= kJobs; ++n) table.put(numbered(n));
  const JobTable before = table.share();
  table.edit(5'000).runs = 1;
  const JobTable after = table.share();
  JobNumber replaced = 0;
  for (JobNumber n = 1; n <= kJobs; ++n) replaced += before.find(n) == after.find(n) ? 0 : 1;
  EXPECT_EQ(replaced, 1);
  EXPECT_NE(before.find(5'000), after.find(5'000));
  const JobRecord* now = &table.edit(5'000);
  EXPECT_NE(now, after.find(5'000));
  EXPECT_EQ(now, &table.edit(5'000)) << "copied once, until it is shared again";
}

TEST(JobTable, GoesFromTheNewestDown) {
  JobTable table;
  const JobNumber large = (JobNumber{1} << 40) + 3;
  for (const JobNumber n : {JobNumber{1}, JobNumber{255}, JobNumber{256}, JobNumber{9'000}, large})
    table.put(numbered(n));
  EXPECT_EQ(newest_first(table, 0, 9), (std::vector<JobNumber>{large, 9'000, 256, 255, 1}));
  EXPECT_EQ(newest_first(table, 9'000, 2), (std::vector<JobNumber>{256, 255}));
  EXPECT_EQ(newest_first(table, 300, 9), (std::vector<JobNumber>{256, 255, 1}));
  EXPECT_EQ(newest_first(table, large + 9'999, 1), std::vector<JobNumber>{large});
  EXPECT_TRUE(newest_first(table, 1, 9).empty());
  EXPECT_EQ(table.first_above(255)->number, 256);
  EXPECT_EQ(table.first_above(300)->number, 9'000);
  EXPECT_EQ(table.first_above(9'000)->number, large);
  EXPECT_EQ(table.first_above(large), nullptr);
  EXPECT_EQ(table.find(-1), nullptr);
}

/// Against a map that is copied as a whole.
TEST(JobTable, IsWhatACopiedMapWouldBe) {
  constexpr std::uint64_t kSeed = 17;
  SCOPED_TRACE(fmt::format("seed {}", kSeed));
  Random random(kSeed);
  using Plain = std::map<JobNumber, std::uint32_t>;
  JobTable table;
  Plain plain;
  std::vector<std::pair<JobTable, Plain>> copies;
  for (std::uint32_t step = 1; step <= 3'000; ++step) {
    const JobNumber number = static_cast<JobNumber>(random.below(2'000)) + 1;
    if (random.below(3) == 0) {
      table.erase(number), plain.erase(number);
    } else if (plain.contains(number)) {
      table.edit(number).runs = plain[number] = step;
    } else {
      table.put(numbered(number, step)), plain[number] = step;
    }
    if (step % 250 == 0) copies.emplace_back(table.share(), plain);
  }
  for (const auto& [copy, expected] : copies) {
    Plain found;
    copy.each_newest_first(0, [&](const JobRecord& job) {
      found[job.number] = job.runs;
      return true;
    });
    EXPECT_EQ(found, expected);
    EXPECT_EQ(copy.size(), expected.size());
  }
}

}  // namespace
}  // namespace trainyard
