#include "live/journal/backup.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "live/journal/journal.h"
#include "live/journal/testing.h"
#include "live/system/state_directory.h"
#include "live/system/testing.h"

namespace trainyard {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

class BackupTest : public testing::Test {
 protected:
  BackupTest() { fs::create_directory(state); }

  void open() {
    journal.reset();
    auto opened = Journal::open(system, state + "/journal.db");
    ASSERT_TRUE(opened) << opened.error().message;
    journal = std::move(*opened);
  }
  void submit(JobNumber number) {
    JobRecord job;
    job.number = number;
    job.owner = {"ada", 1001, 1002, Role::user};
    job.spec.name = fmt::format("n{}", number);
    job.spec.command = {"train"};
    JournalChange change;
    change.submitted = {&job};
    change.events = {{journal->last_event() + 1, Time{number}, "submitted", number, "ada", "{}"}};
    ASSERT_TRUE(journal->commit(change));
  }
  void make_backup() {
    const auto made = back_up(state, file);
    ASSERT_TRUE(made) << made.error().message;
    EXPECT_TRUE(made->is_right());
  }
  void change(const std::string& path, const std::string& sql) {
    SQLite::Database(path, SQLite::OPEN_READWRITE).exec(sql);
  }
  static std::string text_of(const std::string& path) {
    std::ifstream in(path);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  static void write(const std::string& path, const std::string& text) {
    std::ofstream(path) << text;
  }

  TemporaryDirectory directory;
  const std::string state = directory.path() + "/state", file = directory.path() + "/backup";
  HandSystem system;
  std::unique_ptr<Journal> journal;
};

TEST_F(BackupTest, OfAJournalInUseIsOneFileThatBringsItBack) {
  open();
  submit(1), submit(2);
  write(state + "/tokens.json", "[]");
  make_backup();
  struct stat facts {};
  ASSERT_EQ(::stat(file.c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777, 0600U);
  for (const char* end : {".part", "-wal", "-shm", "-journal"})
    EXPECT_FALSE(fs::exists(file + end)) << end;
  submit(3);
  const auto found = verify_journal(file);
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_TRUE(found->is_right());
  EXPECT_EQ(found->jobs, 2U);
  journal.reset();

  const auto done = restore_backup(file, state);
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(fs::path(done->aside).filename().string().find("before-restore-"), 0U);
  EXPECT_EQ(verify_journal(done->aside + "/journal.db")->jobs, 3U) << "what was there is kept";
  EXPECT_TRUE(fs::exists(done->aside + "/journal.db.head"));
  open();
  EXPECT_EQ(journal->loss(), "1 of 3 commits are missing");
  EXPECT_EQ(journal->last_number(), 3) << "it was given";
  EXPECT_EQ(journal->unfinished()->size(), 2U);
  EXPECT_TRUE(journal->payload(2)->damage.empty());
  JournalChange other;
  other.settings = {{"policy", "fifo"}};
  ASSERT_TRUE(journal->commit(other));
  open();
  EXPECT_EQ(journal->last_number(), 3) << "the next daemon knows it too";
  submit(4);
  EXPECT_TRUE(verify_journal(state + "/journal.db")->is_right());
}

/// Its rows say as which user jobs run.
TEST_F(BackupTest, ThatOthersMayHaveWrittenIsNotRestored) {
  open();
  submit(1);
  make_backup();
  journal.reset();
  fs::permissions(file, fs::perms::others_write, fs::perm_options::add);
  EXPECT_THAT(restore_backup(file, state).error().message, HasSubstr("others may write to it"));
  fs::permissions(file, fs::perms::others_write, fs::perm_options::remove);
  ASSERT_TRUE(restore_backup(file, state));
  if (::geteuid() != 0) GTEST_SKIP() << "only root can make files of others";
  ASSERT_EQ(::chown(file.c_str(), 65534, 65534), 0);
  EXPECT_THAT(restore_backup(file, state).error().message, HasSubstr("belongs to user 65534"));
}

TEST_F(BackupTest, WithTriggersOfOthersIsDamagedAndNotRestored) {
  open();
  submit(1);
  for (const char* sql :
       {"CREATE TRIGGER more AFTER INSERT ON event BEGIN UPDATE job SET uid = 0, sum = NULL; END",
        "CREATE VIEW more AS SELECT * FROM payload"}) {
    make_backup();
    change(file, sql);
    EXPECT_THAT(verify_journal(file)->structure, ElementsAre(HasSubstr("more"))) << sql;
    EXPECT_THAT(restore_backup(file, state).error().message, HasSubstr("more")) << sql;
    fs::remove(file);
  }
}

TEST_F(BackupTest, IsNeverWrittenOverAnything) {
  open();
  submit(1);
  write(file, "precious");
  EXPECT_THAT(back_up(state, file).error().message, HasSubstr("exists"));
  EXPECT_EQ(text_of(file), "precious");
  fs::remove(file);
  fs::create_symlink(directory.path() + "/elsewhere", file + ".part");
  EXPECT_FALSE(back_up(state, file));
  EXPECT_FALSE(fs::exists(directory.path() + "/elsewhere"));
}

TEST_F(BackupTest, IsNotWrittenIntoAFileThatOthersCanReach) {
  open();
  submit(1);
  write(file + ".part", "prepared");
  fs::create_hard_link(file + ".part", directory.path() + "/elsewhere");
  EXPECT_THAT(back_up(state, file).error().message, HasSubstr("another user's"));
  EXPECT_EQ(text_of(directory.path() + "/elsewhere"), "prepared");
  fs::remove(directory.path() + "/elsewhere");
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give a file to another user";
  ASSERT_EQ(::chown((file + ".part").c_str(), 65534, 65534), 0);
  EXPECT_THAT(back_up(state, file).error().message, HasSubstr("another user's"));
  EXPECT_FALSE(fs::exists(file));
}

TEST_F(BackupTest, WhatCannotBeMadeLeavesNothing) {
  open();
  submit(1);
  EXPECT_FALSE(back_up(state, directory.path() + "/none/backup"));
  EXPECT_THAT(back_up(directory.path(), file).error().message, HasSubstr("has no journal"));
  EXPECT_FALSE(fs::exists(file));
  EXPECT_FALSE(fs::exists(file + ".part"));
  write(file + ".part", "of one that was killed");
  make_backup();
}

TEST_F(BackupTest, IntoAnEmptyFolderBringsHeadAndTokens) {
  open();
  submit(1), submit(2);
  write(state + "/tokens.json", "[1]");
  make_backup();
  const std::string other = directory.path() + "/other";
  const auto done = restore_backup(file, other);
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(done->aside, "");
  EXPECT_EQ(text_of(other + "/tokens.json"), "[1]");
  EXPECT_EQ(text_of(other + "/journal.db.head"), text_of(state + "/journal.db.head"));
  auto opened = Journal::open(system, other + "/journal.db");
  ASSERT_TRUE(opened) << opened.error().message;
  EXPECT_EQ((*opened)->loss(), "");
  EXPECT_EQ((*opened)->last_number(), 2);
}

TEST_F(BackupTest, TokensThatWereRemovedSinceStayRemoved) {
  open();
  submit(1);
  write(state + "/tokens.json", "[old]");
  make_backup();
  write(state + "/tokens.json", "[]");
  journal.reset();
  ASSERT_TRUE(restore_backup(file, state));
  EXPECT_EQ(text_of(state + "/tokens.json"), "[]");
}

TEST_F(BackupTest, ARestoreIsRefusedWhereADaemonIsAndWhereItCannotBeRead) {
  open();
  submit(1);
  make_backup();
  {
    const auto daemon = StateDirectory::take(state);
    ASSERT_TRUE(daemon);
    EXPECT_THAT(restore_backup(file, state).error().message, HasSubstr("another daemon runs"));
  }
  write(directory.path() + "/text", "no database");
  EXPECT_FALSE(restore_backup(directory.path() + "/text", state));
  EXPECT_FALSE(restore_backup(directory.path() + "/none", state));
  change(file, "PRAGMA user_version = 99");
  EXPECT_THAT(restore_backup(file, state).error().message, HasSubstr("newer version (format 99"));
  submit(2);
  EXPECT_TRUE(verify_journal(state + "/journal.db")->is_right()) << "it is as it was";
}

TEST_F(BackupTest, NoDaemonStartsInTheMiddleOfARestore) {
  open();
  submit(1);
  make_backup();
  journal.reset();
  fs::create_directory(state + "/aside");
  for (const char* end : {"", "-wal", "-shm"})
    if (const std::string name = std::string("/journal.db") + end; fs::exists(state + name))
      fs::rename(state + name, state + "/aside" + name);
  write(state + "/journal.db.restoring", "half of it");
  const auto opened = Journal::open(system, state + "/journal.db");
  ASSERT_FALSE(opened);
  EXPECT_THAT(opened.error().message, HasSubstr("run trainyard restore again"));
  EXPECT_FALSE(fs::exists(state + "/journal.db"));
  ASSERT_TRUE(restore_backup(file, state));
  open();
  EXPECT_EQ(journal->unfinished()->size(), 1U);
}

/// As on a full disk.
TEST_F(BackupTest, ARestoreThatFindsNoRoomLeavesTheDirectoryAsItWas) {
  open();
  submit(1);
  make_backup();
  journal.reset();
  rlimit usual{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &usual), 0);
  const rlimit small{.rlim_cur = 8192, .rlim_max = usual.rlim_max};
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const auto restored = restore_backup(file, state);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &usual), 0);
  std::signal(SIGXFSZ, handler);
  ASSERT_FALSE(restored);
  EXPECT_FALSE(fs::exists(state + "/journal.db.restoring")) << "a daemon would not start";
  open();
  EXPECT_EQ(journal->unfinished()->size(), 1U);
}

// --- What verify finds ---------------------------------------------------------------------------

TEST_F(BackupTest, VerifyNamesEveryDamagedRow) {
  open();
  for (JobNumber number = 1; number <= 6; ++number) submit(number);
  journal.reset();
  const std::string path = state + "/journal.db";
  ASSERT_THAT(verify_journal(path)->problems, ElementsAre());
  change(path,
         "UPDATE job SET uid = 0 WHERE number = 1; UPDATE spec SET spec = spec || ' ' WHERE number "
         "= 2; UPDATE payload SET payload = '{}' WHERE number = 3; UPDATE event SET user = 'eve' "
         "WHERE sequence = 4; UPDATE setting SET value = '1 7 3' WHERE key = 'head'; "
         "DELETE FROM payload WHERE number = 5; DELETE FROM spec WHERE number = 6");
  EXPECT_THAT(verify_journal(path)->problems,
              ElementsAre("job 1: table job, row 1: its checksum is wrong",
                          "job 2: table spec, row 2: its checksum is wrong",
                          "job 3: table payload, row 3: its checksum is wrong",
                          "job 4: table event, row 4: its checksum is wrong",
                          "table setting, row 'head': its checksum is wrong",
                          "job 6: table spec: a row is missing",
                          "job 5: its row in table payload is missing: it cannot be started"));
  const auto made = back_up(state, file);
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(made->problems.size(), 7U) << "it is copied as it is";
}

TEST_F(BackupTest, VerifyKnowsWhatCannotBeThoughItsSumsAreRight) {
  open();
  for (JobNumber number = 1; number <= 3; ++number) submit(number);
  JobRecord first = **journal->find(1), second = **journal->find(2);
  for (JobRecord* job : {&first, &second}) {
    job->life.state.phase = Phase::running;
    job->life.room.placement = {{MachineId{0}, 1}};
    job->life.room.gpus = {{"GPU-3"}};
  }
  JournalChange both;
  both.changed = {&first, &second};
  ASSERT_TRUE(journal->commit(both));
  journal.reset();
  const std::string path = state + "/journal.db";
  SQLite::Database file_now(path, SQLite::OPEN_READWRITE);
  file_now.exec("UPDATE job SET state = 'done', class = 'trial' WHERE number = 3");
  sum_all_rows(file_now, "job");
  write(path + ".head", "100 7 3");
  EXPECT_THAT(verify_journal(path)->problems,
              ElementsAre("job 3: its state is done, and by its life it is held",
                          "job 3: its class is trial, and it was submitted as batch",
                          "job 2: holds GPU GPU-3 of machine 0, and so does job 1",
                          "the journal has lost a part: 96 of 100 commits are missing"));
}

/// In the pages themselves, where SQLite's structure is.
TEST_F(BackupTest, VerifyFindsDamageOfTheFile) {
  open();
  for (JobNumber number = 1; number <= 50; ++number) submit(number);
  make_backup();
  std::string bytes = text_of(file);
  ASSERT_GT(bytes.size(), 40'000U);
  for (std::size_t page = 2; page < 8; ++page) bytes[page * 4096 + 3] ^= 0x55;  // a count of cells
  write(file, bytes);
  const auto found = verify_journal(file);
  EXPECT_TRUE(!found || !found->structure.empty());
  EXPECT_FALSE(restore_backup(file, state + "2"));
}

}  // namespace
}  // namespace trainyard
