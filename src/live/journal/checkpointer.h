// Moves the write-ahead log of a journal into its database, every second, on a thread and a
// connection of its own: within a commit it would take tens of milliseconds of a caller's wait.
// It disturbs neither readers nor writers, so it moves only what none of them needs; while they
// follow each other without a gap the log grows (Journal::bound_log).
#pragma once

#include <memory>
#include <stop_token>
#include <string>
#include <thread>

#include "live/system/system.h"

namespace SQLite {
class Database;
}

namespace trainyard {

class Checkpointer {
 public:
  /// Where the system has no threads, the caller calls checkpoint().
  Checkpointer(const System& system, std::string path);
  ~Checkpointer();

  void checkpoint();

 private:
  void run(const std::stop_token& stop);

  std::string path_;
  /// Kept open, because a new connection parses the whole schema. Null until it is needed, and
  /// after an error.
  std::unique_ptr<SQLite::Database> db_;
  std::jthread thread_;
};

}  // namespace trainyard
