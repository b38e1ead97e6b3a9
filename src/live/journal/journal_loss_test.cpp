// A journal that was lost, shortened, or replaced by an older copy.
#include <SQLiteCpp/SQLiteCpp.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "live/journal/journal.h"
#include "live/system/testing.h"

namespace trainyard {
namespace {

namespace fs = std::filesystem;

class JournalLossTest : public testing::Test {
 protected:
  void open() {
    journal.reset();
    auto opened = Journal::open(system, path);
    ASSERT_TRUE(opened) << opened.error().message;
    journal = std::move(*opened);
  }
  void submit(JobNumber number) {
    JobRecord job;
    job.number = number;
    job.spec.command = {"train"};
    JournalChange change;
    change.submitted = {&job};
    change.events = {{journal->last_event() + 1, Time{number}, "submitted", number, "ada", "{}"}};
    ASSERT_TRUE(journal->commit(change));
  }
  void each_file(const std::function<void(const std::string& name)>& visit) {
    for (const char* end : {"", "-wal", "-shm"}) visit(std::string("journal.db") + end);
  }
  void copy_to(const std::string& to) {
    fs::create_directory(directory.path() + to);
    each_file([&](const std::string& name) {
      const fs::path from = directory.path() + "/" + name;
      if (fs::exists(from)) fs::copy_file(from, directory.path() + to + "/" + name);
    });
  }
  void remove() {
    journal.reset();
    each_file([&](const std::string& name) { fs::remove(directory.path() + "/" + name); });
  }

  TemporaryDirectory directory;
  const std::string path = directory.path() + "/journal.db";
  HandSystem system;
  std::unique_ptr<Journal> journal;
};

TEST_F(JournalLossTest, WhatIsWholeHasLostNothing) {
  open();
  EXPECT_EQ(journal->loss(), "");
  for (JobNumber number = 1; number < 5; ++number) {
    submit(number);
    open();
    EXPECT_EQ(journal->loss(), "");
    EXPECT_EQ(journal->last_number(), number);
  }
}

TEST_F(JournalLossTest, ALostJournalIsNoticedAndItsNumbersAreNotUsedAgain) {
  open();
  submit(1), submit(2), submit(7);
  remove();
  open();
  EXPECT_EQ(journal->loss(), "3 of 3 commits are missing");
  EXPECT_EQ(journal->last_number(), 7);
  submit(8);
  open();
  EXPECT_EQ(journal->loss(), "") << "it is said once";
  EXPECT_EQ(journal->last_number(), 8);
}

TEST_F(JournalLossTest, AnOlderCopyIsNoticed) {
  open();
  submit(1);
  journal.reset();
  copy_to("/copy");
  open();
  submit(2), submit(3);
  remove();
  each_file([&](const std::string& name) {
    const fs::path from = directory.path() + "/copy/" + name;
    if (fs::exists(from)) fs::copy_file(from, directory.path() + "/" + name);
  });
  open();
  EXPECT_EQ(journal->loss(), "2 of 3 commits are missing");
  EXPECT_EQ(journal->last_number(), 3);
}

/// The head is not synced: after a power failure it may be older.
TEST_F(JournalLossTest, AHeadThatIsBehindOrGoneIsNoLoss) {
  open();
  submit(1);
  fs::copy_file(path + ".head", path + ".before");
  submit(2);
  journal.reset();
  fs::copy_file(path + ".before", path + ".head", fs::copy_options::overwrite_existing);
  open();
  EXPECT_EQ(journal->loss(), "");
  journal.reset();
  fs::remove(path + ".head");
  open();
  EXPECT_EQ(journal->loss(), "");
  EXPECT_EQ(journal->last_number(), 2);
}

TEST_F(JournalLossTest, ADamagedHeadIsNoLossWhereThereIsNoJobYet) {
  open();
  JournalChange change;
  change.settings = {{"policy", "fifo"}};
  ASSERT_TRUE(journal->commit(change));
  journal.reset();
  SQLite::Database(path, SQLite::OPEN_READWRITE)
      .exec("UPDATE setting SET sum = sum + 1 WHERE key = 'head'");
  open();
  EXPECT_EQ(journal->loss(), "");
}

}  // namespace
}  // namespace trainyard
