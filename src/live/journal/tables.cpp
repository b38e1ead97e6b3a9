#include "live/journal/tables.h"

#include <sqlite3.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "live/job/utf8.h"

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
      array INTEGER, task INTEGER);
    CREATE INDEX job_unfinished ON job (number) WHERE ended IS NULL;
    CREATE INDEX job_ended ON job (ended) WHERE ended IS NOT NULL;
    CREATE INDEX job_user ON job (user, number);
    CREATE INDEX job_name ON job (name, number);
    CREATE INDEX job_state ON job (state, number);
    CREATE INDEX job_array ON job (array, task) WHERE array IS NOT NULL;
    CREATE TABLE spec (number INTEGER PRIMARY KEY, spec TEXT NOT NULL);
    CREATE TABLE payload (number INTEGER PRIMARY KEY, payload TEXT NOT NULL);
    CREATE TABLE event (
      sequence INTEGER PRIMARY KEY, at INTEGER NOT NULL, kind TEXT NOT NULL,
      job INTEGER NOT NULL, user TEXT NOT NULL, details TEXT NOT NULL);
    CREATE INDEX event_job ON event (job);
    CREATE TABLE setting (key TEXT PRIMARY KEY, value TEXT NOT NULL);
    CREATE TABLE born (name TEXT PRIMARY KEY, number INTEGER NOT NULL);
  )");
  db.exec("PRAGMA user_version = " + std::to_string(kVersion));
  transaction.commit();
}

void Journal::Tables::migrate(int version) {
  SQLite::Transaction transaction(db);
  // Format 3 knew no jobs that were born elsewhere; format 2 said otherwise how a job is to end,
  // which life_from_json() reads; format 1 knew no arrays.
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

/// Format 4 had the GPUs of jobs by number, and in a setting which GPUs these were.
void Journal::Tables::migrate_to_5() {
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

void Journal::Tables::insert(const JobRecord& job) {
  SQLite::Statement& row =
      statement("INSERT INTO job VALUES (?, ?, ?, ?, ?, ?, ?, ?, NULL, ?, ?, ?)");
  row.bind(1, job.number);
  row.bind(2, job.owner.user);
  row.bind(3, static_cast<std::int64_t>(job.owner.uid));
  row.bind(4, static_cast<std::int64_t>(job.owner.gid));
  row.bind(5, job.spec.name);
  row.bind(6, std::string(name(job.spec.job_class)));
  row.bind(7, std::string(state_name(job.phase())));
  row.bind(8, job.submitted.us);
  row.bind(9, life_to_json(job));
  row.bind(10), row.bind(11);
  if (job.task.array != 0) row.bind(10, job.task.array), row.bind(11, job.task.task);
  row.exec();
  JobSpec small = job.spec;
  const JobPayload payload = take_payload(small);
  SQLite::Statement& spec = statement("INSERT INTO spec VALUES (?, ?)");
  spec.bind(1, job.number);
  spec.bind(2, to_json(small).dump());
  spec.exec();
  // Of an array the first task brings it for all.
  SQLite::Statement& large = statement("INSERT OR IGNORE INTO payload VALUES (?, ?)");
  large.bind(1, job.submission());
  nlohmann::json parts{{"script", payload.script}, {"environment", payload.environment}};
  if (!payload.command.empty()) parts["command"] = payload.command;
  large.bind(2, parts.dump());
  large.exec();
  if (job.born_as.empty()) return;
  SQLite::Statement& born = statement("INSERT INTO born VALUES (?, ?)");
  born.bind(1, job.born_as);
  born.bind(2, job.number);
  born.exec();
}

void Journal::Tables::update(const JobRecord& job) {
  SQLite::Statement& row =
      statement("UPDATE job SET state = ?, ended = ?, life = ? WHERE number = ?");
  row.bind(1, std::string(state_name(job.phase())));
  if (job.has_ended()) {
    row.bind(2, job.life.state.since.us);
  } else {
    row.bind(2);
  }
  row.bind(3, life_to_json(job));
  row.bind(4, job.number);
  row.exec();
}

void Journal::Tables::insert(const LiveEvent& event) {
  SQLite::Statement& row = statement("INSERT INTO event VALUES (?, ?, ?, ?, ?, ?)");
  row.bind(1, event.sequence);
  row.bind(2, event.at.us);
  row.bind(3, event.kind);
  row.bind(4, event.job);
  row.bind(5, event.user);
  row.bind(6, event.details);
  row.exec();
}

void Journal::Tables::strip(const JobRecord& job) {
  SQLite::Statement& events =
      statement("DELETE FROM event WHERE job = ? AND sequence < (SELECT max(sequence) FROM event)");
  events.bind(1, job.number);
  events.exec();
  SQLite::Statement& payload = statement(
      "DELETE FROM payload WHERE number = ?1 "
      "AND NOT EXISTS (SELECT 1 FROM job WHERE array = ?1 AND ended IS NULL)");
  payload.bind(1, job.submission());
  payload.exec();
}

void Journal::Tables::set(const std::string& key, const std::string& value) {
  SQLite::Statement& row = statement("INSERT OR REPLACE INTO setting VALUES (?, ?)");
  row.bind(1, key);
  row.bind(2, value);
  row.exec();
}

const std::string& Journal::Tables::select_jobs() {
  static const std::string sql =
      "SELECT job.number, user, uid, gid, submitted, life, spec.spec, name FROM job "
      "LEFT JOIN spec ON spec.number = job.number ";
  return sql;
}

namespace {

/// Nothing of it can be run any more; who looks at it is told why.
void give_up(JobRecord& job, const std::string& why) {
  job.life = {};
  job.life.state.phase = Phase::failed;
  job.life.state.since = job.submitted;
  job.reason = "its row in the journal is damaged: " + why;
}

}  // namespace

JobRecord Journal::Tables::read_job(SQLite::Statement& row) {
  JobRecord job;
  job.number = row.getColumn(0).getInt64();
  job.owner.user = as_utf8(row.getColumn(1).getString());
  job.owner.uid = static_cast<uid_t>(row.getColumn(2).getInt64());
  job.owner.gid = static_cast<gid_t>(row.getColumn(3).getInt64());
  job.submitted = Time{row.getColumn(4).getInt64()};
  const auto life = life_from_json(row.getColumn(5).getString(), job);
  auto spec = parse_job_spec(row.getColumn(6).getString());
  if (spec) {
    job.spec = std::move(*spec);
  } else {
    job.spec.name = as_utf8(row.getColumn(7).getString());
    job.spec.command = {"?"};
  }
  if (life && (spec || job.has_ended())) return job;
  give_up(job, as_utf8(life ? spec.error().message : life.error().message));
  return job;
}

}  // namespace trainyard
