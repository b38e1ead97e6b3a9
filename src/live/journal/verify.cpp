#include "live/journal/verify.h"

#include <fmt/format.h>

#include <limits>
#include <map>
#include <optional>

#include "live/book/job_words.h"
#include "live/journal/disk_use.h"
#include "live/journal/journal_head.h"
#include "live/journal/tables.h"
#include "live/system/files.h"

namespace trainyard {
namespace {

constexpr std::int64_t kRowsAPage = 1000;  // a daemon's log is held no longer than these take
constexpr int kVerifierPatienceMs = 5000;

using Tables = Journal::Tables;

class Verifier {
 public:
  explicit Verifier(const std::string& path) : path_(path), tables_(path, SQLite::OPEN_READONLY) {
    tables_.db.setBusyTimeout(kVerifierPatienceMs);
  }

  Expected<Verification> look() {
    found_.format = tables_.db.execAndGet("PRAGMA user_version").getInt();
    if (found_.format > Tables::kVersion)
      return fail("{}: written by a newer version (format {}, this one reads up to {})", path_,
                  found_.format, Tables::kVersion);
    if (found_.format == 0 || !tables_.db.tableExists("job"))
      return fail("{}: is neither a journal nor a backup of one", path_);
    // First: it is written after each commit, so what is read later has all that it says.
    const auto head = read_small_file(path_ + ".head");
    look_at_structure();
    look_for_foreign_rules();
    if (found_.format < Tables::kFirstWithSums) return found_;
    try {
      look_at_contents(head ? parse_journal_head(*head) : std::nullopt);
    } catch (const SQLite::Exception& problem) {
      if (found_.structure.empty()) throw;
      found_.structure.push_back(fmt::format("not all rows can be read: {}", problem.what()));
    }
    return found_;
  }

 private:
  void add(const std::string& problem) { found_.problems.push_back(problem); }
  void look_at_structure();
  void look_for_foreign_rules();
  void look_at_contents(const std::optional<JournalHead>& beside);
  void look_at_rows(const std::string& table);
  void look_at_each_job();
  void look_at_job(const StoredRow& row, const JobRecord& job);
  void look_at_all_jobs();
  void look_at_arrays();
  void look_at_places();
  void look_at_disk_use();
  void look_at_head(const std::optional<JournalHead>& beside);
  void list(const char* sql, const char* problem);

  std::string path_;
  Tables tables_;
  Verification found_;
  std::map<JobNumber, std::int32_t> arrays_;  // how many tasks they have
};

void Verifier::look_at_structure() {
  SQLite::Statement lines(tables_.db, "PRAGMA integrity_check");
  while (lines.executeStep())
    if (const std::string line = lines.getColumn(0).getString(); line != "ok")
      found_.structure.push_back(line);
}

/// A trigger or a view is run by what the daemon does, and could change any row.
void Verifier::look_for_foreign_rules() {
  const char* rules = "SELECT name, sql FROM sqlite_master WHERE type IN ('trigger', 'view')";
  Tables own(":memory:", SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
  own.create();
  std::map<std::string, std::string> known;
  SQLite::Statement ours(own.db, rules), there(tables_.db, rules);
  while (ours.executeStep()) known[ours.getColumn(0).getString()] = ours.getColumn(1).getString();
  while (there.executeStep()) {
    const std::string name = there.getColumn(0).getString();
    const auto found = known.find(name);
    if (found == known.end() || found->second != there.getColumn(1).getString())
      found_.structure.push_back(
          fmt::format("{} is a trigger or view of no journal", quoted(name)));
  }
}

void Verifier::look_at_contents(const std::optional<JournalHead>& beside) {
  for (const char* table : Tables::kNames) look_at_rows(table);
  if (tables_.db.tableExists(kBackupTable)) look_at_rows(kBackupTable);
  look_at_each_job();
  look_at_all_jobs();
  look_at_head(beside);
}

/// A row of a table that belongs to one job is named by it too.
std::string owner_of(const std::string& table, const StoredRow& row) {
  if (table == "job" || table == "spec" || table == "payload" || table == "born")
    return fmt::format("job {}: ", row.integer("number"));
  const bool is_of_job = table == "event" && row.integer("job") != 0;
  return is_of_job ? fmt::format("job {}: ", row.integer("job")) : std::string();
}

/// Rows by their number, which is the first column, a page at a time.
template <class Visit>
void each_row(SQLite::Statement& rows, Visit visit) {
  std::int64_t last = std::numeric_limits<std::int64_t>::min();
  bool has_more = true;
  while (has_more) {
    rows.bind(1, last);
    rows.bind(2, kRowsAPage);
    has_more = false;
    while (rows.executeStep()) {
      last = rows.getColumn(0).getInt64(), has_more = true;
      visit();
    }
    rows.reset();
  }
}

void Verifier::look_at_rows(const std::string& table) {
  SQLite::Statement rows(
      tables_.db,
      fmt::format("SELECT rowid, * FROM {} WHERE rowid > ? ORDER BY rowid LIMIT ?", table));
  each_row(rows, [&] {
    ++found_.rows;
    const StoredRow row{rows, 1, rows.getColumnCount()};
    if (!row.has_sum()) ++found_.unsummed;
    if (!tables_.check(row, table.c_str())) add(owner_of(table, row) + tables_.damaged.back());
  });
}

void Verifier::look_at_each_job() {
  SQLite::Statement rows(
      tables_.db, Tables::select_jobs() + "WHERE job.number > ? ORDER BY job.number LIMIT ?");
  each_row(rows, [&] {
    ++found_.jobs;
    if (whole_row(rows).is_null("ended")) ++found_.unfinished;
    tables_.damaged.clear();
    const JobRecord job = tables_.read_job(rows);
    if (job.task.array != 0 && !Tables::is_given_up(job))
      arrays_.try_emplace(job.task.array, job.task.count);
    if (tables_.damaged.empty()) return look_at_job(whole_row(rows), job);
    const std::string& why = tables_.damaged.front();
    const bool is_told = why.find("checksum") != std::string::npos;  // of its rows
    if (!is_told) add(fmt::format("job {}: {}", job.number, why));
  });
}

/// What its columns say, and what its life and its specification do.
void Verifier::look_at_job(const StoredRow& row, const JobRecord& job) {
  const auto require = [&](bool holds, const std::string& problem) {
    if (!holds) add(fmt::format("job {}: {}", job.number, problem));
  };
  const std::string_view state = state_name(job.shown_phase());
  require(row.text("state") == state,
          fmt::format("its state is {}, and by its life it is {}", row.text("state"), state));
  require(row.is_null("ended") != job.has_ended(),
          fmt::format("it is {}, and has {}", state,
                      row.is_null("ended") ? "no end" : "an end already"));
  require(row.text("class") == name(job.spec.job_class),
          fmt::format("its class is {}, and it was submitted as {}", row.text("class"),
                      name(job.spec.job_class)));
  require(row.integer("array") == job.task.array,
          fmt::format("it is a task of array {}, and by its life of {}", row.integer("array"),
                      job.task.array));
  require(job.number > 0, "no job has such a number");
}

void Verifier::list(const char* sql, const char* problem) {
  SQLite::Statement rows(tables_.db, sql);
  while (rows.executeStep()) add(fmt::format("job {}: {}", rows.getColumn(0).getInt64(), problem));
}

/// As they are at one moment.
void Verifier::look_at_all_jobs() {
  tables_.db.exec("BEGIN");
  list(
      "SELECT number FROM spec WHERE number NOT IN (SELECT number FROM job) "
      "AND number NOT IN (SELECT array FROM job WHERE array IS NOT NULL)",
      "its specification is there, and its row in table job is missing");
  list(
      "SELECT number FROM job WHERE ended IS NULL AND NOT EXISTS "
      "(SELECT 1 FROM payload WHERE payload.number = coalesce(job.array, job.number))",
      "its row in table payload is missing: it cannot be started");
  look_at_arrays();
  look_at_places();
  look_at_disk_use();
  tables_.db.exec("COMMIT");
}

/// A damaged row counts otherwise than it did: the daemon counts anew when it replaces the row.
void Verifier::look_at_disk_use() {
  if (!found_.problems.empty()) return;
  SQLite::Statement rows(tables_.db, sql_that_finds_wrong_disk_use());
  while (rows.executeStep())
    add(
        fmt::format("user {}: table disk_use is wrong by {} bytes of scripts, {} of output, {} of "
                    "history",
                    rows.getColumn(0).getInt64(), rows.getColumn(1).getInt64(),
                    rows.getColumn(2).getInt64(), rows.getColumn(3).getInt64()));
}

/// Every task has a row, or the next start makes those that are missing.
void Verifier::look_at_arrays() {
  SQLite::Statement rows(
      tables_.db,
      "SELECT (SELECT count(*) FROM job WHERE number > ?1 AND number <= ?1 + ?2), "
      "EXISTS (SELECT 1 FROM setting WHERE key = 'array/' || ?1)");
  for (const auto& [array, tasks] : arrays_) {
    rows.bind(1, array);
    rows.bind(2, tasks);
    rows.executeStep();
    const int missing = tasks - rows.getColumn(0).getInt();
    const bool is_marked = rows.getColumn(1).getInt() != 0;
    if (missing > 0 && !is_marked)
      add(fmt::format("job {}: {} of its {} tasks have no row, and nothing says that they follow",
                      array, missing, tasks));
    rows.reset();
  }
}

void Verifier::look_at_places() {
  std::map<std::pair<MachineId, std::string>, JobNumber> holders;
  SQLite::Statement rows(tables_.db, Tables::select_jobs() + "WHERE ended IS NULL");
  while (rows.executeStep()) {
    tables_.damaged.clear();
    const JobRecord job = tables_.read_job(rows);
    if (!tables_.damaged.empty() || !holds_gpus(job.phase())) continue;
    const KeptRoom& room = job.life.room;
    for (std::size_t i = 0; i < room.placement.size() && i < room.gpus.size(); ++i)
      for (const std::string& gpu : room.gpus[i]) {
        const auto [at, is_free] =
            holders.emplace(std::pair(room.placement[i].machine, gpu), job.number);
        if (!is_free)
          add(fmt::format("job {}: holds GPU {} of machine {}, and so does job {}", job.number, gpu,
                          index(room.placement[i].machine), at->second));
      }
  }
}

void Verifier::look_at_head(const std::optional<JournalHead>& beside) {
  SQLite::Statement row(tables_.db, "SELECT * FROM setting WHERE key = 'head'");
  const bool is_there = row.executeStep();
  if (is_there && !whole_row(row).is_intact()) return;  // that is told, and it says nothing more
  const auto own = is_there ? parse_journal_head(whole_row(row).text("value")) : std::nullopt;
  if (!own) {
    if (found_.jobs > 0) add("the journal has no head of its own");
    return;
  }
  const std::string loss = beside ? describe_loss(*own, *beside) : "";
  if (!loss.empty()) add(fmt::format("the journal has lost a part: {}", loss));
}

}  // namespace

Expected<Verification> verify_journal(const std::string& path) try {
  return Verifier(path).look();
} catch (const std::exception& problem) {
  return fail("{}: cannot be read: {}", path, problem.what());
}

}  // namespace trainyard
