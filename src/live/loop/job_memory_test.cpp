// What jobs that wait take of memory: large fields are on disk, and users have bounds.
#include <gmock/gmock.h>

#include "live/loop/yardmaster_fixture.h"

namespace trainyard {
namespace {

using testing::HasSubstr;

JobSpec with_long_command() {
  JobSpec job = spec();
  job.command = {"train", std::string(100'000, 'x'), std::string(100'000, 'y')};
  return job;
}

TEST_F(YardmasterTest, ALongCommandIsKeptOnDiskAndRunsWhole) {
  const JobSpec whole = with_long_command();
  const JobNumber job = submit(whole);
  ASSERT_TRUE(told("start 1.1"));
  EXPECT_EQ(engine->command({job, 1}), whole.command);
  EXPECT_EQ(record(job).spec.command, whole.command) << "who asks for the job sees all of it";
  const auto page = master->jobs(kAda, {});
  ASSERT_EQ(page->jobs.size(), 1U);
  EXPECT_LT(memory_of(page->jobs[0].spec), 4096U);
  EXPECT_EQ(page->jobs[0].spec.command[0], "train");
  EXPECT_THAT(page->jobs[0].spec.command[1], HasSubstr("xxx..."));
  EXPECT_EQ(journal->unfinished()->front().spec.command, page->jobs[0].spec.command);
}

/// Cut within a letter of several bytes it could not be shown.
TEST_F(YardmasterTest, WhatIsShownOfALongCommandIsText) {
  JobSpec job = spec();
  for (const std::size_t before : {0U, 1U, 2U}) {
    job.command = {std::string(before, 'x')};
    for (int i = 0; i < 1000; ++i) job.command[0] += "€";
    submit(job);
  }
  ASSERT_TRUE(told("start 1.1"));
  begin();
  const auto page = master->jobs(kAda, {});
  for (const JobRecord& shown : page->jobs)
    EXPECT_EQ((shown.spec.command[0].size() - 3) % 3, (shown.number - 1) % 3) << shown.number;
}

TEST_F(YardmasterTest, AUserHasHalfOfTheMemoryForJobs) {
  memory = std::size_t{1} << 20;
  begin();
  JobSpec job = spec(4);
  std::size_t submitted = 0;
  Answer<Submitted> last;
  while ((last = master->submit(kAda, job))) ++submitted;
  EXPECT_EQ(last.error().kind, Refusal::Kind::conflict);
  EXPECT_THAT(last.error().message, HasSubstr("a user may have 0 MiB"));
  EXPECT_NEAR(static_cast<double>(submitted), (512 << 10) / 2100.0, 20);
  EXPECT_TRUE(master->submit(kBob, job)) << "others have theirs";
  while ((last = master->submit(kBob, job))) ++submitted;
  while ((last = master->submit(person("cem", 1003), job))) ++submitted;
  EXPECT_EQ(last.error().kind, Refusal::Kind::unavailable);
  ASSERT_TRUE(master->cancel(kAda, {2}));
  EXPECT_TRUE(eventually([&] { return master->submit(kAda, job).has_value(); }))
      << "what has ended leaves room";
}

}  // namespace
}  // namespace trainyard
