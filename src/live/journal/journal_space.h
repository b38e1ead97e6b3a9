// The journal's space on disk: how much of it each user takes (disk_use.h), and how the file
// shrinks when jobs have ended.
//
// Works on the connection that writes, so it belongs to the thread that commits. All functions
// throw what SQLite throws.
#pragma once

#include <string>

#include "live/journal/disk_use.h"
#include "live/journal/tables.h"
#include "live/system/system.h"

namespace trainyard {

class JournalSpace {
 public:
  explicit JournalSpace(Journal::Tables& tables) : tables_(tables) {}

  /// Rewrites a file of an older format so that it can give pages back, which takes a copy of it. A
  /// file that is too large for that keeps its size; its free pages are still used again.
  static void make_shrinkable(System& system, const std::string& path, SQLite::Database& db);

  [[nodiscard]] DiskUse used_by(uid_t user);
  [[nodiscard]] AllDiskUse used_by_all();

  /// Removes some payloads of jobs that had ended under an older format; when there are none left,
  /// gives some free pages back to the file system. Returns true if there is more to do.
  bool tidy();

 private:
  bool remove_old_payloads();
  bool give_back_pages();

  Journal::Tables& tables_;
  JobNumber tidied_ = 0;  // payloads up to this number have been looked at
};

}  // namespace trainyard
