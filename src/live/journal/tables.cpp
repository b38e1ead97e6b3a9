#include "live/journal/tables.h"

#include <sqlite3.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "live/job/job_array.h"
#include "live/job/utf8.h"
#include "live/journal/disk_use.h"

namespace trainyard {

SQLite::Statement& Journal::Tables::statement(const std::string& sql) {
  auto found = statements.find(sql);
  if (found == statements.end()) found = statements.emplace(sql, SQLite::Statement(db, sql)).first;
  // Tells once more how it failed the last time, which is known.
  (void)found->second.tryReset();
  return found->second;
}

void Journal::Tables::settle() {
  for (auto& [sql, each] : statements) (void)each.tryReset();
  if (sqlite3_get_autocommit(db.getHandle()) == 0) (void)db.tryExec("ROLLBACK");
}

void Journal::Tables::create() {
  SQLite::Transaction transaction(db);
  db.exec(R"(
    CREATE TABLE job (
      number INTEGER PRIMARY KEY,
      user TEXT NOT NULL, uid INTEGER NOT NULL, gid INTEGER NOT NULL,
      name TEXT NOT NULL, class TEXT NOT NULL, state TEXT NOT NULL,
      submitted INTEGER NOT NULL, ended INTEGER, life TEXT NOT NULL,
      array INTEGER, task INTEGER, lived INTEGER, erased_output INTEGER,
      erased_checkpoints INTEGER, output INTEGER, sum INTEGER);
    CREATE INDEX job_unfinished ON job (number) WHERE ended IS NULL;
    CREATE INDEX job_output ON job (lived) WHERE erased_output IS NULL AND ended IS NOT NULL;
    CREATE INDEX job_checkpoints ON job (lived)
      WHERE erased_checkpoints IS NULL AND ended IS NOT NULL;
    CREATE INDEX job_user ON job (user, number);
    CREATE INDEX job_name ON job (name, number);
    CREATE INDEX job_state ON job (state, number);
    CREATE INDEX job_array ON job (array, task) WHERE array IS NOT NULL;
    CREATE INDEX job_open_task ON job (array) WHERE array IS NOT NULL AND ended IS NULL;
    CREATE TABLE spec (number INTEGER PRIMARY KEY, spec TEXT NOT NULL, sum INTEGER);
    CREATE TABLE payload (number INTEGER PRIMARY KEY, payload TEXT NOT NULL, sum INTEGER);
    CREATE TABLE event (
      sequence INTEGER PRIMARY KEY, at INTEGER NOT NULL, kind TEXT NOT NULL,
      job INTEGER NOT NULL, user TEXT NOT NULL, details TEXT NOT NULL, sum INTEGER);
    CREATE INDEX event_job ON event (job);
    CREATE TABLE setting (key TEXT PRIMARY KEY, value TEXT NOT NULL, sum INTEGER);
    CREATE TABLE born (name TEXT PRIMARY KEY, number INTEGER NOT NULL, sum INTEGER);
  )");
  db.exec(sql_that_keeps_disk_use());
  db.exec("PRAGMA user_version = " + std::to_string(kVersion));
  transaction.commit();
}

void Journal::Tables::migrate(int version) {
  SQLite::Transaction transaction(db);
  // Format 5 had the rows of all tasks of an array from the first commit on: what it has is valid
  // now, but its daemon would lose tasks that have no rows yet, so it must refuse a file of today.
  // Format 4 had no checksums, and a row gets one when it changes: to give one to each of a million
  // rows took a minute. Format 3 knew no jobs that were born elsewhere; format 2 said
  // otherwise how a job is to end, which life_from_json() reads; format 1 knew no arrays.
  if (version == 1)
    db.exec(R"(
      ALTER TABLE job ADD COLUMN array INTEGER;
      ALTER TABLE job ADD COLUMN task INTEGER;
      CREATE INDEX job_array ON job (array, task) WHERE array IS NOT NULL;
    )");
  db.exec("CREATE TABLE IF NOT EXISTS born (name TEXT PRIMARY KEY, number INTEGER NOT NULL)");
  if (version < 5) migrate_to_5();
  db.exec("PRAGMA user_version = " + std::to_string(kVersion));
  transaction.commit();
}

namespace {

/// The setting `gpus` of format 4: "trainyard/GPU-1/trainyard/GPU-2/".
std::vector<std::string> gpus_of_format_4(std::string_view setting) {
  constexpr std::string_view kBefore = "trainyard/";
  std::vector<std::string> names;
  while (setting.starts_with(kBefore)) {
    setting.remove_prefix(kBefore.size());
    const std::size_t end = std::min(setting.find('/'), setting.size());
    names.emplace_back(setting.substr(0, end));
    setting.remove_prefix(std::min(end + 1, setting.size()));
  }
  return names;
}

}  // namespace

/// Format 4 had no checksums. It counted ages by the wall clock: jobs that had ended begin to age
/// now. It erased output and checkpoints together, with the events of the job.
void Journal::Tables::migrate_to_5() {
  db.exec(R"(
    ALTER TABLE job ADD COLUMN lived INTEGER;
    ALTER TABLE job ADD COLUMN erased_output INTEGER;
    ALTER TABLE job ADD COLUMN erased_checkpoints INTEGER;
    UPDATE job SET lived = 0 WHERE ended IS NOT NULL;
    UPDATE job SET erased_output = 1, erased_checkpoints = 1 WHERE ended IS NOT NULL
      AND NOT EXISTS (SELECT 1 FROM event WHERE event.job = job.number);
    DROP INDEX IF EXISTS job_ended;
    CREATE INDEX job_output ON job (lived) WHERE erased_output IS NULL AND ended IS NOT NULL;
    CREATE INDEX job_checkpoints ON job (lived)
      WHERE erased_checkpoints IS NULL AND ended IS NOT NULL;
    DELETE FROM setting WHERE key = 'compacted';
  )");
  for (const char* table : kNames)
    db.exec(fmt::format("ALTER TABLE {} ADD COLUMN {} INTEGER", table, kSumColumn));
  name_gpus();
  begin_disk_use();
}

/// Format 4 had the GPUs of jobs by number, with a setting that named them.
void Journal::Tables::name_gpus() {
  SQLite::Statement gpus(db, "SELECT value FROM setting WHERE key = 'gpus'");
  const auto names =
      gpus_of_format_4(gpus.executeStep() ? gpus.getColumn(0).getString() : std::string());
  std::vector<std::pair<std::int64_t, std::string>> lives;
  SQLite::Statement rows(db, "SELECT number, life FROM job WHERE ended IS NULL");
  while (rows.executeStep())
    lives.emplace_back(rows.getColumn(0).getInt64(), rows.getColumn(1).getString());
  for (auto& [number, life] : lives) {
    SQLite::Statement& row = statement("UPDATE job SET life = ? WHERE number = ?");
    row.bind(1, with_gpu_names(std::move(life), names));
    row.bind(2, number);
    row.exec();
  }
  db.exec("DELETE FROM setting WHERE key = 'gpus'");
}

/// Format 4 did not count what users take of the disk.
void Journal::Tables::begin_disk_use() {
  db.exec(R"(
    ALTER TABLE job ADD COLUMN output INTEGER;
    CREATE INDEX job_open_task ON job (array) WHERE array IS NOT NULL AND ended IS NULL;
  )");
  db.exec(sql_that_keeps_disk_use());
  recount_disk_use();
}

void Journal::Tables::recount_disk_use() {
  db.exec("DELETE FROM disk_use");
  db.exec("INSERT INTO disk_use (uid, scripts, output, history) " + sql_that_sums_disk_use());
}

namespace {

void bind(SQLite::Statement& statement, int at, const RowField::Value& value) {
  if (const auto* number = std::get_if<std::int64_t>(&value)) {
    statement.bind(at, *number);
  } else if (const auto* text = std::get_if<std::string>(&value)) {
    statement.bind(at, *text);
  } else {
    statement.bind(at);
  }
}

std::int64_t sum_of(const std::vector<RowField>& row) {
  RowSum sum;
  for (const auto& [column, value, changes] : row) {
    if (const auto* number = std::get_if<std::int64_t>(&value)) sum.add(column, *number);
    if (const auto* text = std::get_if<std::string>(&value)) sum.add(column, *text);
  }
  return sum.value();
}

std::vector<RowField> row_of(const JobRecord& job, Duration lived) {
  const auto or_null = [](bool has, std::int64_t value) {
    return has ? RowField::Value(value) : RowField::Value();
  };
  const bool is_task = job.task.array != 0;
  return {{"number", job.number},
          {"user", as_utf8(job.owner.user)},
          {"uid", std::int64_t{job.owner.uid}},
          {"gid", std::int64_t{job.owner.gid}},
          {"name", job.spec.name},
          {"class", std::string(name(job.spec.job_class))},
          {"state", std::string(state_name(job.shown_phase())), true},
          {"submitted", job.submitted.us, true},  // moves with the wall clock
          {"ended", or_null(job.has_ended(), job.life.state.since.us), true},
          {"life", life_to_json(job), true},
          {"array", or_null(is_task, job.task.array)},
          {"task", or_null(is_task, job.task.task)},
          {"lived", or_null(job.has_ended(), lived.us), true},
          {"output", job.output_bytes, true}};
}

std::vector<RowField> spec_row(JobNumber number, const JobSpec& spec) {
  return {{"number", number}, {"spec", to_json(spec).dump()}};
}

}  // namespace

void Journal::Tables::put(const char* verb, const char* table, const std::vector<RowField>& row) {
  std::string sql = fmt::format("{} INTO {} (", verb, table), marks;
  for (const RowField& field : row) sql += field.column, sql += ", ", marks += "?, ";
  SQLite::Statement& into = statement(fmt::format("{}{}) VALUES ({}?)", sql, kSumColumn, marks));
  int at = 0;
  for (const RowField& field : row) bind(into, ++at, field.value);
  into.bind(++at, sum_of(row));
  into.exec();
}

namespace {

constexpr std::string_view kFolding = "array/";

std::string folding_key(JobNumber array) {
  return fmt::format("{}{}", kFolding, array);
}

}  // namespace

void Journal::Tables::insert(const JobRecord& job, Duration lived) {
  put("INSERT", "job", row_of(job, lived));
  const bool is_in = job.task.array != 0 && job.task.array == array_in;
  if (!is_in) insert_submission(job);
  array_in = job.task.array;
  if (!job.born_as.empty()) put("INSERT", "born", {{"name", job.born_as}, {"number", job.number}});
}

void Journal::Tables::insert_submission(const JobRecord& job) {
  JobSpec small = job.spec;
  const JobPayload payload = take_payload(small);
  if (!small.array.empty()) set(folding_key(job.task.array), as_utf8(job.owner.via));
  put("INSERT OR IGNORE", "spec", spec_row(job.submission(), small));
  put("INSERT OR IGNORE", "payload", {{"number", job.submission()}, {"payload", to_json(payload)}});
}

void Journal::Tables::replace(const JobRecord& job, Duration lived) {
  put("INSERT OR REPLACE", "job", row_of(job, lived));
  SQLite::Statement& spec = statement("SELECT * FROM spec WHERE number = ?");
  spec.bind(1, job.submission());
  const bool is_intact = spec.executeStep() && whole_row(spec).is_intact();
  spec.reset();
  if (!is_intact) put("INSERT OR REPLACE", "spec", spec_row(job.submission(), job.spec));
  remove_payload(job.submission());
}

/// Writes the columns that change alone: the others stand in indexes.
void Journal::Tables::update(const JobRecord& job, Duration lived) {
  const std::vector<RowField> row = row_of(job, lived);
  std::string sql = "UPDATE job SET ";
  for (const RowField& field : row)
    if (field.changes) sql += field.column, sql += " = ?, ";
  SQLite::Statement& into = statement(fmt::format("{}{} = ? WHERE number = ?", sql, kSumColumn));
  int at = 0;
  for (const RowField& field : row)
    if (field.changes) bind(into, ++at, field.value);
  into.bind(++at, sum_of(row));
  into.bind(++at, job.number);
  into.exec();
  if (job.has_ended()) remove_payload(job.submission());
}

/// Whatever a damaged row says of its array, the payload of a job that has not ended stays.
void Journal::Tables::remove_payload(JobNumber submission) {
  SQLite::Statement& payload = statement(
      "DELETE FROM payload WHERE number = ?1 "
      "AND NOT EXISTS (SELECT 1 FROM job WHERE number = ?1 AND ended IS NULL) "
      "AND NOT EXISTS (SELECT 1 FROM job WHERE array = ?1 AND ended IS NULL) "
      "AND NOT EXISTS (SELECT 1 FROM setting WHERE key = 'array/' || ?1)");
  payload.bind(1, submission);
  payload.exec();
}

void Journal::Tables::unfold(const JobRecord& task, Duration lived) {
  put("INSERT", "job", row_of(task, lived));
  if (task.has_ended()) remove_payload(task.submission());
}

void Journal::Tables::end_folding(JobNumber array) {
  SQLite::Statement& mark = statement("DELETE FROM setting WHERE key = ?");
  mark.bind(1, folding_key(array));
  mark.exec();
  remove_payload(array);
}

Expected<std::vector<LiveEvent>> Journal::Tables::events(const char* sql, std::int64_t number,
                                                         std::size_t limit) {
  SQLite::Statement& rows = statement(sql);
  rows.bind(1, number);
  std::vector<LiveEvent> events;
  while (events.size() < limit && rows.executeStep()) {
    const StoredRow row = whole_row(rows);
    if (!check(row, "event")) continue;
    events.push_back({row.integer("sequence"), Time{row.integer("at")}, row.text("kind"),
                      row.integer("job"), row.text("user"), row.text("details")});
  }
  return events;
}

void Journal::Tables::insert(const LiveEvent& event) {
  put("INSERT", "event",
      {{"sequence", event.sequence},
       {"at", event.at.us},
       {"kind", event.kind},
       {"job", event.job},
       {"user", event.user},
       {"details", event.details}});
}

/// The checksum is a sum over columns, so the mark is added to it.
void Journal::Tables::mark_erased(const JobRecord& job, Leftover what) {
  const std::string column = what == Leftover::output ? "erased_output" : "erased_checkpoints";
  RowSum sum;
  sum.add(column, std::int64_t{1});
  SQLite::Statement& row =
      statement(fmt::format("SELECT {} FROM job WHERE number = ?", kSumColumn));
  row.bind(1, job.number);
  const bool has_sum = row.executeStep() && !row.getColumn(0).isNull();
  if (has_sum) sum.add_up(row.getColumn(0).getInt64());
  row.reset();
  SQLite::Statement& marked = statement(fmt::format(
      "UPDATE job SET {} = 1, {} = ? WHERE number = ? AND {} IS NULL", column, kSumColumn, column));
  has_sum ? marked.bind(1, sum.value()) : marked.bind(1);
  marked.bind(2, job.number);
  marked.exec();
  if (what != Leftover::output) return;
  SQLite::Statement& events =
      statement("DELETE FROM event WHERE job = ? AND sequence < (SELECT max(sequence) FROM event)");
  events.bind(1, job.number);
  events.exec();
}

void Journal::Tables::set(const std::string& key, const std::string& value) {
  put("INSERT OR REPLACE", "setting", {{"key", key}, {"value", value}});
}

const std::string& Journal::Tables::select_jobs() {
  static const std::string sql =
      "SELECT job.*, spec.* FROM job LEFT JOIN spec ON spec.number = coalesce("
      "(SELECT own.number FROM spec AS own WHERE own.number = job.number), job.array) ";
  return sql;
}

bool Journal::Tables::check(const StoredRow& row, const char* table) {
  const SQLite::Column key = row.statement.getColumn(row.first);
  if (!key.isNull() && row.is_intact()) return true;
  damaged.push_back(key.isNull()
                        ? fmt::format("table {}: a row is missing", table)
                        : fmt::format("table {}, row {}: its checksum is wrong", table,
                                      key.isText() ? quoted(key.getString()) : key.getString()));
  return false;
}

namespace {

constexpr std::string_view kDamaged = "its row in the journal is damaged: ";

/// Nothing of it can be run any more; who looks at it is told why.
void give_up(JobRecord& job, const std::string& why) {
  job.life = {};
  job.life.state.phase = Phase::failed;
  job.life.state.since = job.submitted;
  job.reason = std::string(kDamaged) + why;
}

}  // namespace

bool Journal::Tables::is_given_up(const JobRecord& job) {
  return job.reason.starts_with(kDamaged);
}

StoredRow Journal::Tables::job_row(const SQLite::Statement& both) {
  return {both, 0, StoredRow{both, 1, both.getColumnCount()}.find("number")};
}

JobRecord Journal::Tables::read_job(const SQLite::Statement& both) {
  const StoredRow row = job_row(both), submitted{both, row.end, both.getColumnCount()};
  JobRecord job;
  job.number = row.integer("number");
  job.owner.user = as_utf8(row.text("user"));
  job.owner.uid = static_cast<uid_t>(row.integer("uid"));
  job.owner.gid = static_cast<gid_t>(row.integer("gid"));
  job.submitted = Time{row.integer("submitted")};
  job.spec.command = {"?"};
  const std::size_t before = damaged.size();
  const bool is_intact = check(row, "job"), has_spec = check(submitted, "spec");
  if (is_intact) job.output_bytes = row.integer("output");
  const auto life = life_from_json(row.text("life"), job);
  auto spec = parse_job_spec(submitted.text("spec"));
  if (spec && has_spec) job.spec = std::move(*spec);
  job.spec.name = as_utf8(row.text("name"));
  job.spec.array.clear();  // which is that of the submission
  const bool is_whole = is_intact && life && ((has_spec && spec) || job.has_ended());
  if (damaged.size() == before && !is_whole)
    damaged.push_back(as_utf8(life ? spec.error().message : life.error().message));
  if (!is_whole) give_up(job, damaged[before]);
  return job;
}

std::vector<JobNumber> Journal::Tables::folded_arrays() {
  std::vector<JobNumber> arrays;
  SQLite::Statement rows(db, "SELECT key FROM setting WHERE key GLOB 'array/*' ORDER BY rowid");
  while (rows.executeStep())
    arrays.push_back(std::atoll(rows.getColumn(0).getString().c_str() + kFolding.size()));
  return arrays;
}

namespace {

/// The tasks of an array, by its specification; of one that is damaged, as many as one of them
/// says.
std::vector<ArrayTask> all_tasks(JobNumber array, const std::optional<JobArray>& submitted,
                                 const ArrayTask& one) {
  if (submitted) return tasks_of(array, *submitted);
  const std::int32_t most = kMostTasks;
  std::vector<ArrayTask> made(static_cast<std::size_t>(std::clamp(one.count, 0, most)), one);
  for (std::size_t i = 0; i < made.size(); ++i) made[i].task = static_cast<std::int32_t>(i);
  return made;
}

}  // namespace

/// A task of the array whose row in table job is intact, if any is, and why it cannot be run.
std::optional<JobRecord> Journal::Tables::model_task(JobNumber array, std::string& why) {
  SQLite::Statement& rows = statement(select_jobs() + "WHERE job.array = ? ORDER BY job.number");
  rows.bind(1, array);
  std::optional<JobRecord> model;
  for (bool is_intact = false; !is_intact && rows.executeStep();) {
    damaged.clear();
    model = read_job(rows);
    is_intact = job_row(rows).is_intact();
    why = damaged.empty() ? "" : damaged.front();
  }
  return model;
}

/// Empty if the row is damaged: a bit of it may make more tasks than there are.
std::optional<JobArray> Journal::Tables::submitted_array(JobNumber array) {
  SQLite::Statement& spec = statement("SELECT * FROM spec WHERE number = ?");
  spec.bind(1, array);
  if (!spec.executeStep() || !whole_row(spec).is_intact()) return {};
  const auto submitted = parse_job_spec(whole_row(spec).text("spec"));
  if (!submitted || submitted->array.empty()) return {};
  const auto tasks = parse_job_array(submitted->array);
  return tasks ? std::optional(*tasks) : std::nullopt;
}

/// Numbers that no task of the array can have, as they are from the next submission on.
JobNumber Journal::Tables::submission_after(JobNumber array) {
  SQLite::Statement& next = statement("SELECT min(number) FROM spec WHERE number > ?");
  next.bind(1, array);
  const bool is_last = !next.executeStep() || next.getColumn(0).isNull();
  return is_last ? std::numeric_limits<JobNumber>::max() : next.getColumn(0).getInt64();
}

std::vector<JobRecord> Journal::Tables::folded_tasks(JobNumber array) {
  std::string why;
  const std::optional<JobRecord> model = model_task(array, why);
  if (!model) return {};
  Identity owner = model->owner;
  SQLite::Statement& via = statement("SELECT * FROM setting WHERE key = ?");
  via.bind(1, folding_key(array));
  const bool is_via_known = via.executeStep() && check(whole_row(via), "setting");
  owner.via = is_via_known ? whole_row(via).text("value") : "unknown";
  const auto tasks = all_tasks(array, submitted_array(array), model->task);
  const JobNumber end =
      std::min(array + 1 + static_cast<JobNumber>(tasks.size()), submission_after(array));
  std::set<JobNumber> known;
  SQLite::Statement& rows = statement("SELECT number FROM job WHERE number > ? AND number < ?");
  rows.bind(1, array);
  rows.bind(2, end);
  while (rows.executeStep()) known.insert(rows.getColumn(0).getInt64());
  std::vector<JobRecord> folded;
  for (JobNumber number = array + 1; number < end; ++number) {
    if (known.contains(number)) continue;
    JobRecord& task = folded.emplace_back();
    task.number = number, task.task = tasks[static_cast<std::size_t>(number - array - 1)];
    task.task.array = array, task.task.count = static_cast<std::int32_t>(end - array - 1);
    task.owner = owner, task.spec = model->spec;
    task.submitted = task.life.state.since = model->submitted;
    if (!why.empty()) give_up(task, why);
  }
  return folded;
}

}  // namespace trainyard
