// The tables of the journal, and a connection to them with its prepared statements.
//
//   job      a row for each job; `ended` is null until it has, `life` changes with every phase;
//            `array` and `task` are null unless it is a task of an array
//   spec     what was submitted, but for
//   payload  script, environment and a long command, which only a start needs: one for all tasks
//            of an array
//   event    what happened, in order
//   setting  the policy, and what operators said of machines
#pragma once

#include <SQLiteCpp/SQLiteCpp.h>

#include <string>
#include <unordered_map>

#include "live/book/job_record.h"
#include "live/journal/journal.h"

namespace trainyard {

struct Journal::Tables {
  static constexpr int kVersion = 5;

  SQLite::Database db;
  std::unordered_map<std::string, SQLite::Statement> statements;

  Tables(const std::string& path, int flags) : db(path, flags) {}

  /// Prepared once, ready to be bound.
  SQLite::Statement& statement(const std::string& sql);

  void create();
  /// From an older format, in one transaction.
  void migrate(int version);
  void migrate_to_5();
  /// Its payload goes into a table of its own.
  void insert(const JobRecord& job);
  void update(const JobRecord& job);
  void insert(const LiveEvent& event);
  /// Of a job that ended long ago: its events go (but the last of all, whose number is taken), and
  /// its payload.
  void strip(const JobRecord& job);
  void set(const std::string& key, const std::string& value);

  /// All statements at their end, and no transaction open: whatever came to pass before.
  void settle();

  /// From a row of `select_jobs`. Of one that is damaged, what can be read, as of a job that
  /// failed.
  static JobRecord read_job(SQLite::Statement& row);
  static const std::string& select_jobs();
};

}  // namespace trainyard
