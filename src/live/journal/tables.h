// The tables of the journal, and a connection to them with its prepared statements.
//
//   job      a row for each job; `ended` is null until it has, `life` changes with every phase;
//            `array` and `task` are null unless it is a task of an array; `lived` is the time that
//            the daemon had lived through at its end; `erased_output` and `erased_checkpoints` are
//            1 once these are gone, else null; `output` is the bytes that its runs wrote
//   spec     what was submitted: of an array once, under its number (before format 5 for each
//            task), but for
//   payload  script, environment and a long command, which only a start needs: one for all tasks
//            of an array. It goes when the job, or the last task, has ended
//   event    what happened, in order
//   setting  the policy, and what operators said of machines; `array/NUMBER` is there while some
//            tasks of that array have no rows yet, and says how its owner was shown
//   born     the names of jobs that were not submitted here
//   disk_use what each user takes of the disk (disk_use.h)
//
// Each row has a checksum (row_sum.h). All rows are written by put() and update(), which add it,
// and read as whole rows, `table.*`, which are checked. Rows of disk_use have none: triggers write
// them, and all of it can be computed from the other tables, which verify.h does.
#pragma once

#include <SQLiteCpp/SQLiteCpp.h>

#include <initializer_list>
#include <optional>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

#include "live/book/job_record.h"
#include "live/journal/journal.h"
#include "live/journal/row_sum.h"

namespace trainyard {

/// In a backup alone: what else was in the state directory (backup.h).
constexpr const char* kBackupTable = "backup";

/// A column of a row that is written.
struct RowField {
  using Value = std::variant<std::monostate, std::int64_t, std::string>;
  const char* column;
  Value value;
  /// Over the life of the row: update() writes these alone. The checksum is of all of them, so
  /// what does not change has to be read back as it was written.
  bool changes = false;
};

struct Journal::Tables {
  static constexpr int kVersion = 6;
  static constexpr int kFirstWithSums = 5;  // formats before have no checksums
  static constexpr std::initializer_list<const char*> kNames = {"job",   "spec",    "payload",
                                                                "event", "setting", "born"};

  SQLite::Database db;
  std::unordered_map<std::string, SQLite::Statement> statements;
  JobNumber array_in = 0;  // what was submitted of it has been inserted in this transaction

  Tables(const std::string& path, int flags) : db(path, flags) {}

  /// Prepared once, ready to be bound.
  SQLite::Statement& statement(const std::string& sql);

  void create();
  /// From an older format, in one transaction.
  void migrate(int version);
  void migrate_to_5();
  void name_gpus();
  void begin_disk_use();
  /// Counts anew what users take of the disk: damage changes rows without the triggers.
  void recount_disk_use();
  /// `verb` is "INSERT", "INSERT OR IGNORE" or "INSERT OR REPLACE".
  void put(const char* verb, const char* table, const std::vector<RowField>& row);
  /// What was submitted goes into tables of its own, of an array with the first of its tasks.
  /// `lived` is now: a job that has ended is of that age.
  void insert(const JobRecord& job, Duration lived);
  void insert_submission(const JobRecord& job);
  /// Writes the rows of a job that has failed by damage in place of those that are damaged. A
  /// specification that is intact stays: it may be that of a whole array.
  void replace(const JobRecord& job, Duration lived);
  /// With the end of a job, or of the last task of an array, its payload goes.
  void update(const JobRecord& job, Duration lived);
  void remove_payload(JobNumber submission);
  /// The row of a task whose array was submitted before.
  void unfold(const JobRecord& task, Duration lived);
  /// All tasks of the array have rows.
  void end_folding(JobNumber array);
  /// Arrays with tasks that may have no rows.
  std::vector<JobNumber> folded_arrays();
  /// Its tasks that have none (Journal::FoldedArray).
  std::vector<JobRecord> folded_tasks(JobNumber array);
  std::optional<JobRecord> model_task(JobNumber array, std::string& why);
  std::optional<JobArray> submitted_array(JobNumber array);
  JobNumber submission_after(JobNumber array);
  void insert(const LiveEvent& event);
  /// The first that this statement finds with this number; damaged ones are left out.
  Expected<std::vector<LiveEvent>> events(const char* sql, std::int64_t number, std::size_t limit);
  /// With the output of a job go its events (but the last of all, whose number is taken); the bytes
  /// of the output count no more.
  void mark_erased(const JobRecord& job, Leftover what);
  void set(const std::string& key, const std::string& value);

  /// All statements at their end, and no transaction open: whatever came to pass before.
  void settle();

  /// From a row of `select_jobs`. Of one that is damaged, what can be read, as of a job that
  /// failed.
  JobRecord read_job(const SQLite::Statement& row);
  static const std::string& select_jobs();
  /// It failed because a row of it is damaged, or was: what it says of its array may be wrong.
  static bool is_given_up(const JobRecord& job);
  /// The part of such a row that is from table job; the rest is from table spec.
  static StoredRow job_row(const SQLite::Statement& both);
  /// False if the row is damaged, which is noted.
  bool check(const StoredRow& row, const char* table);

  std::vector<std::string> damaged;  // rows that were read, for people, since somebody looked last
};

}  // namespace trainyard
