#include "live/journal/journal_space.h"

#include <algorithm>
#include <filesystem>

namespace trainyard {
namespace {

std::int64_t pragma(SQLite::Database& db, const char* name) {
  return db.execAndGet(fmt::format("PRAGMA {}", name)).getInt64();
}

/// From columns `scripts`, `output` and `history`, in this order.
DiskUse read_use(const SQLite::Statement& row) {
  return {row.getColumn(0).getInt64(), row.getColumn(1).getInt64(), row.getColumn(2).getInt64()};
}

}  // namespace

void JournalSpace::make_shrinkable(System& system, const std::string& path, SQLite::Database& db) {
  constexpr std::int64_t kMost = std::int64_t{256} << 20;
  const std::int64_t size = pragma(db, "page_count") * pragma(db, "page_size");
  const std::uint64_t free = system.disk(std::filesystem::path(path).parent_path().string()).free;
  if (size > kMost || free < 3 * static_cast<std::uint64_t>(size)) {
    system.log().write(
        LogLevel::info,
        fmt::format("{}: of {} MiB, does not shrink when jobs end, but its free pages are used "
                    "again; to have it shrink, end the daemon and run: sqlite3 {} 'PRAGMA "
                    "auto_vacuum = INCREMENTAL; VACUUM'",
                    path, size >> 20U, path));
    return;
  }
  db.exec("PRAGMA auto_vacuum = INCREMENTAL; VACUUM");
}

DiskUse JournalSpace::used_by(uid_t user) {
  SQLite::Statement& row =
      tables_.statement("SELECT scripts, output, history FROM disk_use WHERE uid = ?");
  row.bind(1, static_cast<std::int64_t>(user));
  const DiskUse use = row.executeStep() ? read_use(row) : DiskUse{};
  row.reset();
  return use;
}

AllDiskUse JournalSpace::used_by_all() {
  SQLite::Statement& row = tables_.statement(
      "SELECT total(scripts), total(output), total(history), count(*) FROM disk_use");
  row.executeStep();
  const AllDiskUse all{read_use(row), row.getColumn(3).getInt64()};
  row.reset();
  return all;
}

bool JournalSpace::tidy() {
  return remove_old_payloads() || give_back_pages();
}

/// A payload of a job that ended under this format was removed with its end.
bool JournalSpace::remove_old_payloads() {
  constexpr int kAtOnce = 16;  // of at most some megabytes each
  SQLite::Statement rows(tables_.db,
                         "SELECT number, EXISTS (SELECT 1 FROM job WHERE job.number = "
                         "payload.number AND ended IS NULL) FROM payload WHERE number > ? "
                         "ORDER BY number LIMIT ?");
  rows.bind(1, tidied_);
  rows.bind(2, kAtOnce);
  std::vector<JobNumber> ended;
  int found = 0;
  JobNumber last = tidied_;
  for (; rows.executeStep(); ++found) {
    last = rows.getColumn(0).getInt64();
    if (rows.getColumn(1).getInt() == 0) ended.push_back(last);
  }
  rows.reset();
  if (!ended.empty()) {
    SQLite::Transaction transaction(tables_.db, SQLite::TransactionBehavior::IMMEDIATE);
    for (const JobNumber number : ended) tables_.remove_payload(number);
    transaction.commit();
  }
  tidied_ = last;
  return found == kAtOnce;
}

/// Keeps free pages that are soon used again: an eighth of the file, and at least 4 MiB.
bool JournalSpace::give_back_pages() {
  constexpr std::int64_t kKept = 1024, kPartKept = 8, kAtOnce = 512;
  SQLite::Database& db = tables_.db;
  const std::int64_t kept = std::max(kKept, pragma(db, "page_count") / kPartKept);
  const std::int64_t spare = pragma(db, "freelist_count") - kept;
  if (spare <= 0 || pragma(db, "auto_vacuum") == 0) return false;
  db.exec(fmt::format("PRAGMA incremental_vacuum({})", std::min(spare, kAtOnce)));
  return spare > kAtOnce;
}

}  // namespace trainyard
