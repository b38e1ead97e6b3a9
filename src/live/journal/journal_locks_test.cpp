// What others do to the journal's files: locks, and readers that follow each other.
#include <SQLiteCpp/SQLiteCpp.h>
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <thread>

#include "live/journal/journal.h"
#include "live/system/testing.h"

namespace trainyard {
namespace {

class JournalLocksTest : public testing::Test {
 protected:
  JournalLocksTest() { journal = std::move(*Journal::open(system, path)); }

  Expected<void> submit(JobNumber number, std::size_t script_bytes = 0) {
    JobRecord job;
    job.number = number;
    job.owner = {"ada", 1001, 1001};
    job.spec.command = {"train"};
    job.spec.script = "#!" + std::string(script_bytes, 'x');
    JournalChange change;
    change.submitted = {&job};
    return journal->commit(change);
  }
  Expected<void> set(const std::string& key) {
    JournalChange change;
    change.settings = {{key, "value"}};
    return journal->commit(change);
  }
  [[nodiscard]] std::uintmax_t log_bytes() const {
    return std::filesystem::file_size(path + "-wal");
  }

  TemporaryDirectory directory;
  const std::string path = directory.path() + "/journal.db";
  HandSystem system;
  std::unique_ptr<Journal> journal;
};

/// A statement that found the journal locked must not keep what it saw: the next one, after
/// others have written, could not write any more.
TEST_F(JournalLocksTest, AForeignLockIsOverWhenItIsGone) {
  SQLite::Database other(path, SQLite::OPEN_READWRITE);
  for (JobNumber number = 1; number <= 2; ++number) {
    other.exec("BEGIN IMMEDIATE");
    EXPECT_FALSE(submit(number));
    EXPECT_FALSE(set("a"));
    other.exec("INSERT OR REPLACE INTO setting (key, value) VALUES ('foreign', 'x'); COMMIT");
    other.exec("PRAGMA wal_checkpoint(TRUNCATE)");
    const auto again = set("b");
    EXPECT_TRUE(again) << again.error().message;
    EXPECT_TRUE(submit(number));
  }
  EXPECT_EQ(journal->last_number(), 2);
}

/// A start that nobody lets read says so; it dies of no exception.
TEST_F(JournalLocksTest, AJournalThatOthersHaveForThemselvesIsAnError) {
  ASSERT_TRUE(submit(1));
  journal.reset();
  {
    SQLite::Database other(path, SQLite::OPEN_READWRITE);
    other.exec("PRAGMA locking_mode = EXCLUSIVE; BEGIN IMMEDIATE");
    const auto refused = Journal::open(system, path);
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().message.find("locked"), std::string::npos) << refused.error().message;
  }
  const auto opened = Journal::open(system, path);
  ASSERT_TRUE(opened) << opened.error().message;
  EXPECT_EQ((*opened)->last_number(), 1);
}

TEST_F(JournalLocksTest, AReadThatFailsHoldsNothing) {
  ASSERT_TRUE(submit(1));
  SQLite::Database other(path, SQLite::OPEN_READWRITE);
  other.exec("UPDATE payload SET payload = '{}'");
  EXPECT_FALSE(journal->payload(1)->damage.empty());
  EXPECT_EQ(other.execAndGet("PRAGMA wal_checkpoint(TRUNCATE)").getInt(), 0) << "nobody reads";
}

/// One reads at every moment, so that it is never seen unused.
TEST_F(JournalLocksTest, TheLogStaysSmallHoweverManyRead) {
  constexpr std::size_t kScript = 500'000, kJobs = 250;
  ASSERT_TRUE(submit(1));
  JobRecord ended = *journal->unfinished()->begin();
  ended.life.state.phase = Phase::done;
  JournalChange change;
  change.changed = {&ended};
  ASSERT_TRUE(journal->commit(change));
  std::atomic<bool> is_over = false;
  std::vector<std::jthread> readers;
  for (int i = 0; i < 2; ++i)
    readers.emplace_back([&] {
      while (!is_over) EXPECT_TRUE(journal->ended_after({}, 0));
    });
  std::uintmax_t most = 0;
  for (JobNumber number = 2; number < static_cast<JobNumber>(kJobs); ++number) {
    ASSERT_TRUE(submit(number, kScript));
    most = std::max(most, log_bytes());
  }
  is_over = true;
  EXPECT_LT(most, 64U << 20U) << "of " << kScript * kJobs << " bytes that were written";
}

}  // namespace
}  // namespace trainyard
