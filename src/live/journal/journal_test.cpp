#include "live/journal/journal.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "live/journal/verify.h"
#include "live/system/testing.h"

namespace trainyard {
namespace {

class JournalTest : public testing::Test {
 protected:
  JournalTest() { open(); }

  void open() {
    journal.reset();
    auto opened = Journal::open(system, path);
    ASSERT_TRUE(opened) << opened.error().message;
    journal = std::move(*opened);
  }

  static JobRecord record(JobNumber number, const std::string& user = "ada") {
    JobRecord job;
    job.number = number;
    job.owner = {user, 1001, 1002, Role::user};
    job.spec.name = fmt::format("n{}", number);
    job.spec.command = {"python3", "train.py", "it's; DROP TABLE job; --"};
    job.spec.environment = {{"KEY", "value \" ' ; -- \n"}};
    job.submitted = Time{number * 1'000'000};
    return job;
  }

  void submit(const JobRecord& job) {
    JournalChange change;
    change.submitted = {&job};
    change.events = {
        {journal->last_event() + 1, job.submitted, "submitted", job.number, job.owner.user, "{}"}};
    const auto done = journal->commit(change);
    ASSERT_TRUE(done) << done.error().message;
  }

  void update(const JobRecord& job) {
    JournalChange change;
    change.changed = {&job};
    ASSERT_TRUE(journal->commit(change));
  }

  /// Of the jobs that ended before then and have output, all lose it.
  std::vector<JobNumber> erase(Time ended_before) {
    auto old = journal->left_behind(Leftover::output, {journal->lived(), ended_before}, 100);
    EXPECT_TRUE(old) << old.error().message;
    std::vector<JobNumber> numbers;
    for (const JobRecord& job : *old) numbers.push_back(job.number);
    JournalChange change;
    change.erased_what = Leftover::output;
    change.erased = std::move(*old);
    EXPECT_TRUE(journal->commit(change));
    return numbers;
  }
  /// Ends it now by the steady clock, and by the wall clock at this second.
  void end(JobNumber number, std::int64_t second) {
    JobRecord job = **journal->find(number);
    job.life.state.phase = Phase::done, job.life.state.since = Time{second * 1'000'000};
    update(job);
  }
  /// Those that ended before this was lived, whatever the wall clock says.
  std::vector<JobNumber> of_age(Duration lived) {
    std::vector<JobNumber> numbers;
    const auto left = journal->left_behind(Leftover::output, {lived, Time::never()}, 100);
    for (const JobRecord& job : *left) numbers.push_back(job.number);
    return numbers;
  }
  /// Has the file as format 4 had it, and then does this.
  void as_format_4(const std::string& sql) {
    journal.reset();
    SQLite::Database db(path, SQLite::OPEN_READWRITE);
    std::string drop;
    SQLite::Statement names(db, "SELECT name FROM sqlite_master WHERE type = 'trigger'");
    while (names.executeStep())
      drop += fmt::format("DROP TRIGGER {};", names.getColumn(0).getString());
    names.reset();
    for (const char* index : {"job_output", "job_checkpoints", "job_open_task"})
      drop += fmt::format("DROP INDEX {};", index);
    for (const char* column : {"lived", "erased_output", "erased_checkpoints", "output"})
      drop += fmt::format("ALTER TABLE job DROP COLUMN {};", column);
    for (const char* table : {"job", "spec", "payload", "event", "setting", "born"})
      drop += fmt::format("ALTER TABLE {} DROP COLUMN sum;", table);
    db.exec(drop +
            "DROP TABLE disk_use; DELETE FROM setting WHERE key = 'lived'; "
            "PRAGMA user_version = 4; PRAGMA auto_vacuum = NONE; VACUUM;" +
            sql);
  }

  TemporaryDirectory directory;
  std::string path = directory.path() + "/journal.db";
  HandSystem system;
  std::unique_ptr<Journal> journal;
};

TEST_F(JournalTest, GivesBackWhatItWasGiven) {
  JobRecord job = record(7);
  job.spec.script = "#!/bin/sh\necho it\n";
  job.life.state.phase = Phase::reserved, job.life.state.pauses = 2;
  job.life.state.since = Time{9};
  job.life.state.first_start = Time{5};
  job.life.state.done = seconds(3), job.life.state.lost = seconds(4);
  job.life.state.lost_by_pause = true;
  job.life.room.placement = {{MachineId{0}, 2}, {MachineId{1}, 2}};
  job.life.room.gpus = {{"GPU-63"}, {"GPU-2", "GPU-71"}};
  job.life.room.missing = {{1, 500, 7}, {}};
  job.life.yielded_to = {3, (JobNumber{1} << 40) + 7};
  job.life.room_for = (JobNumber{1} << 32) + 1;
  job.life.room.flow = FlowClass{2};
  job.life.next = {{{MachineId{1}, 1}}, {{"GPU-5"}}, {{1, 0, 3}}, FlowClass{1}};
  job.life.lead = (JobNumber{1} << 32) + 2;
  job.eligible = Time{6};
  job.runs = 3, job.restarts = 1, job.has_started = true;
  job.ending = Ending::by_time_limit, job.old_run = OldRun::leaving;
  job.exit_status = 143, job.reason = "why \xff not";
  job.progress = JobProgress{5, 10, 0.25, {}, 1.5, {}};
  job.pause_took = seconds(2);
  job.curve.add(*job.progress, seconds(1));
  submit(job);
  open();
  const auto found = journal->unfinished();
  ASSERT_TRUE(found) << found.error().message;
  ASSERT_EQ(found->size(), 1U);
  const JobRecord& same = found->front();
  EXPECT_TRUE(same.spec.environment.empty()) << "it is kept apart";
  EXPECT_EQ(same.spec.script, "#!");
  JobSpec whole = same.spec;
  put_payload(whole, *journal->payload(7));
  EXPECT_EQ(whole, job.spec);
  EXPECT_EQ(same.owner.user, "ada");
  EXPECT_EQ(same.owner.uid, 1001U);
  EXPECT_EQ(same.owner.gid, 1002U);
  EXPECT_EQ(same.life.state.phase, Phase::reserved);
  EXPECT_EQ(same.life.state.lost, seconds(4));
  EXPECT_TRUE(same.life.state.lost_by_pause);
  EXPECT_EQ(same.life.room, job.life.room);
  EXPECT_EQ(same.life.yielded_to, job.life.yielded_to);
  EXPECT_EQ(same.progress, job.progress);
  EXPECT_EQ(same.pause_took, job.pause_took);
  EXPECT_EQ(same.curve, job.curve);
  EXPECT_EQ(same.runs, 3U);
  EXPECT_EQ(same.exit_status, 143);
  EXPECT_EQ(same.life.room_for, job.life.room_for);
  EXPECT_EQ(same.life.next, job.life.next);
  EXPECT_EQ(same.life.lead, job.life.lead);
  EXPECT_EQ(same.ending, Ending::by_time_limit);
  EXPECT_EQ(same.old_run, OldRun::leaving);
  EXPECT_EQ(journal->last_number(), 7);
  EXPECT_EQ(journal->last_time(), job.submitted);
}

TEST_F(JournalTest, IsNobodyElses) {
  submit(record(1));
  for (const char* end : {"", "-wal", "-shm"}) {
    struct stat info {};
    ASSERT_EQ(::stat((path + end).c_str(), &info), 0) << end;
    EXPECT_EQ(info.st_mode & 0777U, 0600U) << end;
  }
}

TEST_F(JournalTest, RefusesAFormatThatItDoesNotKnow) {
  journal.reset();
  SQLite::Database(path, SQLite::OPEN_READWRITE).exec("PRAGMA user_version = 99");
  const auto opened = Journal::open(system, path);
  ASSERT_FALSE(opened);
  EXPECT_THAT(opened.error().message, testing::HasSubstr("newer version (format 99"));
}

TEST_F(JournalTest, RefusesWhatIsNoJournal) {
  journal.reset();
  std::filesystem::remove(path + "-wal");
  std::ofstream(path) << "this is not a database, whatever its name says, and long enough to tell";
  EXPECT_EQ(Journal::open(system, path).error().message,
            path +
                ": the journal cannot be opened: file is not a database; jobs that run go on. "
                "With the daemon ended, move the file away together with those that end in -wal "
                "and -shm; then put a backup in its place, or start without one: a new journal "
                "begins, and what still runs is taken up");
}

TEST_F(JournalTest, ACommitIsWholeOrNotAtAll) {
  const JobRecord first = record(1), twice = record(1), second = record(2);
  submit(first);
  JournalChange change;
  change.submitted = {&second, &twice};  // the second of them cannot be inserted
  EXPECT_FALSE(journal->commit(change));
  EXPECT_FALSE(journal->find(2)->has_value());
  submit(second);
  EXPECT_TRUE(journal->find(2)->has_value());
}

TEST_F(JournalTest, FindsWhatHasEndedByWhatIsAskedForInPages) {
  for (JobNumber n = 1; n <= 11; ++n) {
    JobRecord job = record(n, n % 2 == 0 ? "ada" : "bob'; --");
    submit(job);
    job.life.state.phase = Phase::done, job.life.state.since = Time{n * 1'000'000};
    if (n <= 10) update(job);
  }
  JobFilter filter;
  filter.user = "bob'; --";
  filter.limit = 3;
  const auto page = journal->find_ended(filter);
  ASSERT_TRUE(page) << page.error().message;
  ASSERT_EQ(page->jobs.size(), 3U);
  EXPECT_TRUE(page->more);
  EXPECT_EQ(page->jobs.front().number, 9) << "11 has not ended";
  EXPECT_EQ(page->jobs.back().number, 5);
  filter.before = 5;
  EXPECT_EQ(journal->find_ended(filter)->jobs.size(), 2U);
  filter.above = 1;
  EXPECT_EQ(journal->find_ended(filter)->jobs.size(), 1U);
  filter = {};
  filter.states = {Phase::failed, Phase::queued};
  EXPECT_TRUE(journal->find_ended(filter)->jobs.empty());
  filter.states = {Phase::absent, Phase::done};
  EXPECT_EQ(journal->find_ended(filter)->jobs.size(), 10U);
  filter = {};
  filter.name = "n4";
  EXPECT_EQ(journal->find_ended(filter)->jobs.size(), 1U);
}

TEST_F(JournalTest, TheFormatBeforeIsTakenOver) {
  submit(record(1));
  as_format_4(
      "UPDATE job SET life = json_set(life, '$.stopping', json('true'), '$.out_of_time', "
      "json('false'), '$.forced', json('true')); PRAGMA user_version = 2");
  open();
  EXPECT_EQ((*journal->find(1))->ending, Ending::by_operator);
  EXPECT_EQ(verify_journal(path)->unsummed, 5U);
  update(**journal->find(1));
  const auto found = verify_journal(path);
  EXPECT_EQ(found->unsummed, 3U) << "a row that changes gets one";
  EXPECT_TRUE(found->is_right());
  journal.reset();
  SQLite::Database now(path, SQLite::OPEN_READONLY);
  EXPECT_EQ(now.execAndGet("PRAGMA user_version").getInt(), 6) << "an older daemon refuses it";
}

/// Its daemon knew no tasks without rows, and would lose them.
TEST_F(JournalTest, AFileOfFormat5IsTakenOverAsItIs) {
  submit(record(1));
  journal.reset();
  const auto version = [&] {
    return SQLite::Database(path, SQLite::OPEN_READONLY).execAndGet("PRAGMA user_version").getInt();
  };
  SQLite::Database(path, SQLite::OPEN_READWRITE).exec("PRAGMA user_version = 5");
  EXPECT_EQ(verify_journal(path)->unsummed, 0U);
  EXPECT_GT(verify_journal(path)->rows, 0U) << "its rows have checksums";
  open();
  EXPECT_EQ(version(), 6);
  EXPECT_EQ((*journal->find(1))->spec.name, record(1).spec.name);
  EXPECT_TRUE(verify_journal(path)->is_right());
}

/// As format 2 wrote it.
TEST_F(JournalTest, HowAJobWasToEndIsReadFromAnOlderFormat) {
  const auto old_life = [](const std::string& flags) {
    return R"({"state": {"phase": "running", "since": 1, "first_start": 1, "pauses": 0, "done": 0,)"
           R"( "waited": 0, "lost": 0, "slowed": 0}, "place": [], "eligible": 1, "runs": 1,)"
           R"( "restarts": 0, "has_started": true, "quick_returns": 0, "reason": "",)"
           R"( "yielded_to": [4294967295], "room_for": 7, )" +
           flags + "}";
  };
  const auto read = [&](const std::string& flags) {
    JobRecord job;
    const auto ok = life_from_json(old_life(flags), job);
    EXPECT_TRUE(ok) << ok.error().message;
    return job;
  };
  const auto ending_of = [&](bool stopping, bool out_of_time, bool forced) {
    return read(fmt::format(R"("left_behind": false, "was_leaving": false, "stopping": {}, )"
                            R"("out_of_time": {}, "forced": {})",
                            stopping, out_of_time, forced))
        .ending;
  };
  EXPECT_EQ(ending_of(false, false, false), Ending::none);
  EXPECT_EQ(ending_of(true, false, false), Ending::by_owner);
  EXPECT_EQ(ending_of(true, false, true), Ending::by_operator);
  EXPECT_EQ(ending_of(true, true, true), Ending::by_time_limit);
  const JobRecord left = read(R"("left_behind": true, "was_leaving": true, "stopping": false,)"
                              R"( "out_of_time": false, "forced": false)");
  EXPECT_EQ(left.old_run, OldRun::leaving);
  EXPECT_EQ(left.life.room_for, 7);
  EXPECT_EQ(left.life.yielded_to, std::vector<JobNumber>{4'294'967'295});
  JobRecord job;
  EXPECT_FALSE(life_from_json(old_life(R"("ending": "tomorrow")"), job));
}

TEST_F(JournalTest, CompactionForgetsWhatIsOldAndKeepsHistory) {
  for (JobNumber n = 1; n <= 3; ++n) {
    JobRecord job = record(n);
    submit(job);
    job.life.state.phase = Phase::done, job.life.state.since = Time{n * 1'000'000};
    job.output_bytes = 1000;
    if (n < 3) update(job);
  }
  EXPECT_EQ(journal->disk_use(1001)->output, 2000);
  EXPECT_EQ(erase(Time{1'500'000}), std::vector<JobNumber>{1});
  EXPECT_EQ(journal->disk_use(1001)->output, 1000) << "what is erased counts no more";
  EXPECT_EQ(journal->events(0, 100)->size(), 2U);
  EXPECT_EQ(journal->last_event(), 3);
  EXPECT_EQ(journal->ended_after({}, 0)->size(), 2U);
  EXPECT_EQ(journal->ended_after({}, 1)->size(), 1U);
  EXPECT_TRUE(erase(Time{1'500'000}).empty());
  const Journal::Age all{journal->lived(), Time{1'500'000}};
  EXPECT_EQ(journal->count_left_behind(Leftover::output, all)->all, 1U);
  EXPECT_EQ(journal->left_behind(Leftover::checkpoints, all, 9)->size(), 1U) << "they stay";
  EXPECT_TRUE(verify_journal(path)->is_right());
}

TEST_F(JournalTest, AnOlderFormatIsTakenOver) {
  submit(record(1));
  as_format_4(
      "DROP INDEX job_array; ALTER TABLE job DROP COLUMN array; "
      "ALTER TABLE job DROP COLUMN task; PRAGMA user_version = 1");
  open();
  EXPECT_EQ((*journal->find(1))->spec.command, record(1).spec.command);
  JobRecord task = record(3);
  task.task = {2, 7, 1, 7, 7, 1, 0};
  submit(task);
  open();
  EXPECT_EQ((*journal->find(3))->task, task.task);
  EXPECT_EQ((*journal->tally(2))->unfinished, 1U);
  EXPECT_EQ(*journal->numbers({2, {7}}), std::vector<JobNumber>{3});
  EXPECT_FALSE(*journal->tally(1));
}

/// Format 4 had GPUs by number: as bits, or as a list of those beyond 63.
TEST_F(JournalTest, GpusThatWereNumbersGetTheirNames) {
  for (const JobNumber number : {1, 2}) {
    JobRecord job = record(number);
    job.life.state.phase = Phase::draining;
    job.life.room.placement = job.life.next.placement = {{MachineId{0}, 1}};
    job.life.room.gpus = job.life.next.gpus = {{""}};
    submit(job);
  }
  const std::string old = R"(
      UPDATE job SET life = json_set(life, '$.place[0].gpus', 6, '$.next[0].gpus', json('[1]'));
      )";
  as_format_4(old);
  open();
  using Gpus = std::vector<std::vector<std::string>>;
  EXPECT_EQ((*journal->find(1))->life.room.gpus, (Gpus{{"1", "2"}})) << "stand-ins, or Slurm's";
  EXPECT_EQ((*journal->find(2))->life.next.gpus, (Gpus{{"1"}}));
  as_format_4(
      "INSERT INTO setting VALUES ('gpus', "
      "'trainyard/GPU-a/trainyard/GPU-b/trainyard/number-7/'); " +
      old);
  open();
  EXPECT_EQ((*journal->find(1))->life.room.gpus, (Gpus{{"GPU-b", "number-7"}}));
  EXPECT_EQ((*journal->find(2))->life.next.gpus, (Gpus{{"GPU-b"}}));
  EXPECT_EQ(journal->setting("gpus"), std::nullopt);
}

TEST_F(JournalTest, AFormatWithoutJobsThatAreBornElsewhereIsTakenOver) {
  submit(record(1));
  as_format_4("DROP TABLE born; PRAGMA user_version = 3");
  open();
  EXPECT_EQ(*journal->born("slurm-17"), std::nullopt);
  JobRecord job = record(2);
  job.born_as = "slurm-17", job.runs_outside = job.is_broken = true, job.failed_starts = 2;
  job.granted = {.gpus = 1, .milli_cpus = 2, .memory_mib = 3};
  submit(job);
  open();
  EXPECT_EQ(*journal->born("slurm-17"), JobNumber{2});
  const JobRecord read = **journal->find(2);
  EXPECT_EQ(read.born_as, "slurm-17");
  EXPECT_TRUE(read.runs_outside && read.is_broken);
  EXPECT_EQ(read.failed_starts, 2U);
  EXPECT_EQ(read.granted, job.granted);
  EXPECT_EQ((*journal->find(1))->granted, Resources{}) << "as it was before";
}

TEST_F(JournalTest, APayloadGoesWithTheEndOfItsJob) {
  JobRecord job = record(1);
  submit(job);
  EXPECT_FALSE(journal->payload(1)->environment.empty());
  job.life.state.phase = Phase::cancelled;
  update(job);
  EXPECT_TRUE(journal->payload(1)->environment.empty());
  EXPECT_EQ(journal->disk_use(1001)->scripts, 0);
  EXPECT_TRUE(*journal->find(1)) << "the rest stays";
}

/// Under formats before 5 they stayed for as long as output did.
TEST_F(JournalTest, PayloadsThatAnOlderFormatLeftGoStepByStep) {
  constexpr JobNumber kJobs = 40;
  for (JobNumber n = 1; n <= kJobs; ++n) submit(record(n));
  as_format_4("UPDATE job SET ended = 1 WHERE number != 7");
  open();
  EXPECT_GT(journal->disk_use(1001)->scripts, 0);
  EXPECT_TRUE(*journal->tidy()) << "more than one step";
  while (*journal->tidy()) {
  }
  EXPECT_TRUE(journal->payload(1)->environment.empty());
  EXPECT_TRUE(journal->payload(kJobs)->environment.empty());
  EXPECT_FALSE(journal->payload(7)->environment.empty());
}

TEST_F(JournalTest, WhatUsersTakeOfTheDiskIsCountedAsWhenItIsTakenOver) {
  JobRecord task = record(3);
  task.task = {2, 7, 1, 7, 7, 1, 0};
  for (const JobRecord& job : {record(1), task, record(4, "bob")}) submit(job);
  JobRecord job = record(1);
  job.reason = "a longer life", job.output_bytes = 5000;
  update(job);
  const DiskUse counted = *journal->disk_use(1001);
  EXPECT_EQ(counted.output, 5000);
  EXPECT_TRUE(verify_journal(path)->is_right());
  as_format_4("");
  open();
  EXPECT_EQ(*journal->disk_use(1001), (DiskUse{counted.scripts, 0, counted.history}));
  EXPECT_EQ(journal->disk_use_of_all()->users, 1) << "of one number";
}

/// The pages of what is gone go back to the file system.
TEST_F(JournalTest, TheFileShrinksWhenLargeJobsHaveEnded) {
  constexpr JobNumber kJobs = 16;
  const auto size = [&] {
    journal->checkpoint();
    return std::filesystem::file_size(path);
  };
  const auto fill = [&](JobNumber first) {
    for (JobNumber n = first; n < first + kJobs; ++n) {
      JobRecord job = record(n);
      job.spec.script.assign(1 << 20, 'x');
      submit(job);
    }
  };
  const auto end = [&](JobNumber first) {
    for (JobNumber n = first; n < first + kJobs; ++n) {
      JobRecord job = **journal->find(n);
      job.life.state.phase = Phase::cancelled;
      update(job);
    }
  };
  fill(1);
  const auto full = size();
  EXPECT_GT(full, kJobs << 20U);
  end(1);
  fill(1 + kJobs);
  EXPECT_LT(size(), full + (1U << 20U)) << "free pages are used again";
  end(1 + kJobs);
  while (*journal->tidy()) {
  }
  EXPECT_LT(size(), full / 2);
}

TEST_F(JournalTest, ThePayloadOfAnArrayIsKeptUntilItsLastTaskHasEnded) {
  for (JobNumber n = 2; n <= 3; ++n) {
    JobRecord job = record(n);
    job.task = {1, static_cast<std::int32_t>(n), 2, 2, 3, 1, 0};
    submit(job);
    job.life.state.phase = Phase::done, job.life.state.since = Time{n * 1'000'000};
    if (n == 2) update(job);
  }
  EXPECT_FALSE(journal->payload(1)->environment.empty());
  JobRecord last = **journal->find(3);
  last.life.state.phase = Phase::failed, last.life.state.since = Time{4'000'000};
  update(last);
  EXPECT_EQ((*journal->tally(1))->not_done, 1U);
  EXPECT_TRUE(journal->payload(1)->environment.empty());
}

/// A file that was damaged without the triggers' knowledge.
TEST_F(JournalTest, VerifyRecomputesWhatUsersTakeAndABurialCountsAnew) {
  submit(record(1)), submit(record(2));
  SQLite::Database db(path, SQLite::OPEN_READWRITE);
  db.exec("UPDATE disk_use SET scripts = scripts + 7");
  EXPECT_THAT(verify_journal(path)->problems,
              testing::ElementsAre("user 1001: table disk_use is wrong by 7 bytes of scripts, 0 of "
                                   "output, 0 of history"));
  db.exec("UPDATE job SET uid = 7 WHERE number = 2");
  auto found = *journal->unfinished();
  JournalChange change;
  change.buried = {&found.back()};
  ASSERT_TRUE(journal->commit(change));
  const auto after = verify_journal(path);
  EXPECT_TRUE(after->is_right()) << after->problems.front();
}

/// One row for all its tasks: those that have not ended fail, and those that have stay as they are.
TEST_F(JournalTest, ADamagedSpecificationOfAnArrayCostsItsTasksAlone) {
  submit(record(1));
  for (JobNumber n = 3; n <= 5; ++n) {
    JobRecord task = record(n);
    task.task = {2, static_cast<std::int32_t>(n), 3, 3, 5, 1, 0};
    submit(task);
  }
  end(3, 9);
  SQLite::Database(path, SQLite::OPEN_READWRITE)
      .exec("UPDATE spec SET spec = replace(spec, 'train', 'trayn') WHERE number = 2");
  auto found = *journal->unfinished();
  ASSERT_EQ(found.size(), 3U);
  EXPECT_EQ(found[0].phase(), Phase::absent);
  JournalChange change;
  for (std::size_t i = 1; i < 3; ++i) {
    EXPECT_EQ(found[i].phase(), Phase::failed);
    EXPECT_THAT(found[i].reason, testing::HasSubstr("table spec, row 2: its checksum is wrong"));
    change.buried.push_back(&found[i]);
  }
  EXPECT_EQ((*journal->find(3))->phase(), Phase::done);
  ASSERT_TRUE(journal->commit(change));
  EXPECT_TRUE(verify_journal(path)->is_right());
  EXPECT_EQ((*journal->find(1))->spec.command, record(1).spec.command);
}

TEST_F(JournalTest, AgesAreCountedInTimeThatWasLivedThrough) {
  submit(record(1)), submit(record(2));
  end(1, 50);
  system.pass(hours(5));
  system.set_wall_clock_by(days(400));
  end(2, 60);
  EXPECT_EQ(of_age(hours(4)), std::vector<JobNumber>{1});
  EXPECT_EQ(of_age(hours(6)), (std::vector<JobNumber>{1, 2}));
  journal.reset();
  system.pass(days(100));  // while it is off
  open();
  EXPECT_LT(journal->lived(), hours(6));
  EXPECT_GE(journal->lived(), hours(5));
  journal.reset();
  system.reboot();  // the steady clock goes back by a day
  open();
  EXPECT_LT(journal->lived(), hours(6));
  EXPECT_GE(journal->lived(), hours(5));
}

TEST_F(JournalTest, ACountThatCannotBeMakesNothingOlder) {
  submit(record(1));
  system.pass(hours(5));
  end(1, 50);
  for (const char* forged :
       {"-5", "", "soon", "9223372036854775807", "99999999999999999999", "7 8"}) {
    journal.reset();
    SQLite::Database(path, SQLite::OPEN_READWRITE)
        .exec(fmt::format("UPDATE setting SET value = '{}' WHERE key = 'lived'", forged));
    open();
    EXPECT_GE(journal->lived(), hours(5)) << forged;
    EXPECT_LT(journal->lived(), hours(6)) << forged;
  }
  for (const char* forged : {"-1", "NULL", "'x'", "9223372036854775807"}) {
    SQLite::Database(path, SQLite::OPEN_READWRITE)
        .exec(fmt::format("UPDATE job SET lived = {}", forged));
    EXPECT_TRUE(of_age(days(10'000)).empty()) << forged;
  }
}

TEST_F(JournalTest, JobsOfFormat4BeginToAgeWhenItIsTakenOver) {
  for (JobNumber n = 1; n <= 3; ++n) submit(record(n));
  end(1, 1), end(2, 2);
  as_format_4("DELETE FROM event WHERE job = 1");
  open();
  system.pass(hours(2));
  EXPECT_TRUE(of_age(journal->lived() - hours(3)).empty());
  EXPECT_EQ(of_age(journal->lived() - hours(1)), std::vector<JobNumber>{2})
      << "the first had lost its output before, the third has not ended";
}

TEST_F(JournalTest, AJobWithADamagedLifeHasFailed) {
  submit(record(5));
  SQLite::Database(path, SQLite::OPEN_READWRITE).exec("UPDATE job SET life = '{\"runs\": 1}'");
  const auto found = journal->unfinished();
  ASSERT_TRUE(found);
  EXPECT_EQ(found->front().phase(), Phase::failed);
  EXPECT_THAT(found->front().reason, testing::HasSubstr("table job, row 5: its checksum is wrong"));
  EXPECT_EQ(found->front().spec.name, "n5");
}

}  // namespace
}  // namespace trainyard
