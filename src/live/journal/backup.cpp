#include "live/journal/backup.h"

#include <SQLiteCpp/Backup.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <map>

#include "live/journal/tables.h"
#include "live/system/files.h"
#include "live/system/private_file.h"
#include "live/system/state_directory.h"

namespace trainyard {
namespace {

namespace fs = std::filesystem;
using Tables = Journal::Tables;

constexpr int kBackupPatienceMs = 5000;
// Small files beside the journal that a daemon cannot make again.
constexpr const char *kHead = "journal.db.head", *kTokens = "tokens.json";

template <class Work>
auto attempt_on(const std::string& path, Work work) -> decltype(work()) {
  try {
    return work();
  } catch (const std::exception& problem) {
    return fail("{}: {}", path, problem.what());
  }
}

/// All pages of one state of `from`, in a file that needs no log to be read. Throws what SQLite
/// throws.
void copy_pages(SQLite::Database& from, SQLite::Database& to) {
  SQLite::Backup backup(to, from);
  if (const int done = backup.executeStep(-1); done != SQLITE_DONE)
    throw SQLite::Exception(sqlite3_errstr(done), done);
}

std::string now_as_text(const char* format) {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  ::gmtime_r(&now, &parts);
  std::array<char, 64> text{};
  const std::size_t size = std::strftime(text.data(), text.size(), format, &parts);
  return {text.data(), size};
}

bool sync_path(const std::string& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  return file && ::fsync(file.get()) == 0;
}

std::string folder_of(const std::string& path) {
  const std::string folder = fs::path(path).parent_path();
  return folder.empty() ? "." : folder;
}

/// False for a file that another user made or can reach under another name: what is written there
/// would be theirs to read.
bool is_ours_alone(const Descriptor& file) {
  struct stat status {};
  return ::fstat(file.get(), &status) == 0 && S_ISREG(status.st_mode) &&
         status.st_uid == ::geteuid() && status.st_nlink == 1;
}

/// A file that only its owner may read, emptied, and ours until the descriptor is closed.
Expected<Descriptor> take_part(const std::string& part) {
  Descriptor file(::open(part.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file) return fail("{}: cannot be made: {}", part, std::strerror(errno));
  if (!is_ours_alone(file))
    return fail(
        "{}: is another user's, or has another name; remove it, or choose a directory that "
        "only you can write to",
        part);
  if (::flock(file.get(), LOCK_EX | LOCK_NB) != 0)
    return fail("{}: another backup is being written there", part);
  if (::ftruncate(file.get(), 0) != 0 || ::fchmod(file.get(), 0600) != 0)
    return fail("{}: cannot be written: {}", part, std::strerror(errno));
  return file;
}

/// Synced first, so that the name never stands for less than the whole.
Expected<void> publish(const std::string& part, const std::string& file) {
  if (!sync_path(part)) return fail("{}: cannot be synced: {}", part, std::strerror(errno));
  int done = ::renameat2(AT_FDCWD, part.c_str(), AT_FDCWD, file.c_str(), RENAME_NOREPLACE);
  if (done != 0 && (errno == EINVAL || errno == ENOSYS))  // some file systems cannot promise it
    done = fs::exists(file) ? (errno = EEXIST, -1) : std::rename(part.c_str(), file.c_str());
  if (done != 0) return fail("{}: cannot be made: {}", file, std::strerror(errno));
  if (!sync_path(folder_of(file)))
    return fail("{}: its folder cannot be synced: {}", file, std::strerror(errno));
  return {};
}

std::vector<BackupItem> items_of(const std::string& state) {
  std::vector<BackupItem> items{{"made", now_as_text("%Y-%m-%dT%H:%M:%SZ")}, {"state", state}};
  for (const char* name : {kHead, kTokens})
    if (auto content = read_small_file(state + "/" + name))
      items.push_back({name, *std::move(content)});
  return items;
}

/// Makes it under the name of the part.
Expected<Verification> write_part(const std::string& state, const std::string& part) {
  // The head before the journal: it is never ahead of it.
  const std::vector<BackupItem> items = items_of(state);
  if (auto ok = copy_journal(state + "/journal.db", part, items); !ok)
    return tl::make_unexpected(ok.error());
  auto found = verify_journal(part);
  if (found && !found->structure.empty())
    return fail("{}: SQLite finds the journal damaged, and no backup was made: {}",
                state + "/journal.db", found->structure.front());
  return found;
}

}  // namespace

Expected<void> copy_journal(const std::string& journal, const std::string& to,
                            const std::vector<BackupItem>& items) {
  return attempt_on(journal, [&]() -> Expected<void> {
    SQLite::Database from(journal, SQLite::OPEN_READONLY, kBackupPatienceMs);
    Tables copy(to, SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
    copy_pages(from, copy.db);
    copy.db.exec("PRAGMA journal_mode = DELETE; PRAGMA synchronous = FULL");
    SQLite::Transaction transaction(copy.db);
    copy.db.exec(
        fmt::format("CREATE TABLE {} (name TEXT PRIMARY KEY, content TEXT NOT NULL, {} INTEGER)",
                    kBackupTable, kSumColumn));
    for (const auto& [name, content] : items)
      copy.put("INSERT", kBackupTable, {{"name", name}, {"content", content}});
    transaction.commit();
    return {};
  });
}

Expected<void> extract_journal(const std::string& backup, const std::string& to) {
  return attempt_on(backup, [&]() -> Expected<void> {
    SQLite::Database from(backup, SQLite::OPEN_READONLY, kBackupPatienceMs);
    SQLite::Database copy(to, SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
    copy_pages(from, copy);
    copy.exec(fmt::format("PRAGMA synchronous = FULL; DROP TABLE IF EXISTS {}", kBackupTable));
    return {};
  });
}

Expected<Verification> back_up(const std::string& state, const std::string& file) {
  if (fs::exists(file)) return fail("{}: exists; a backup is not written over anything", file);
  if (!fs::exists(state + "/journal.db"))
    return fail("{}: has no journal; is it a daemon's state folder?", state);
  const std::string part = file + ".part";
  const auto lock = take_part(part);
  if (!lock) return tl::make_unexpected(lock.error());
  auto found = write_part(state, part);
  if (found)
    if (auto ok = publish(part, file); !ok) found = tl::make_unexpected(ok.error());
  if (!found) ::unlink(part.c_str());
  return found;
}

// --- The way back --------------------------------------------------------------------------------

namespace {

std::string restoring(const std::string& journal) {
  return journal + ".restoring";
}

/// What the backup has beside the journal.
std::map<std::string, std::string> read_items(const std::string& file) {
  SQLite::Database db(file, SQLite::OPEN_READONLY, kBackupPatienceMs);
  std::map<std::string, std::string> items;
  if (!db.tableExists(kBackupTable)) return items;
  SQLite::Statement rows(db, fmt::format("SELECT * FROM {}", kBackupTable));
  while (rows.executeStep())
    if (const StoredRow row = whole_row(rows); row.is_intact())
      items[row.text("name")] = row.text("content");
  return items;
}

/// A new folder; the files move into it, and the head is copied: the next daemon needs it.
Expected<std::string> put_aside(const std::string& state) {
  std::vector<std::string> there;
  for (const char* name : {"journal.db", "journal.db-wal", "journal.db-shm"})
    if (fs::exists(state + "/" + name)) there.emplace_back(name);
  if (there.empty()) return std::string();
  const std::string base = state + now_as_text("/before-restore-%Y%m%dT%H%M%SZ");
  std::string folder = base;
  for (int i = 2; ::mkdir(folder.c_str(), 0700) != 0; ++i) {
    if (errno != EEXIST) return fail("{}: cannot be made: {}", folder, std::strerror(errno));
    folder = fmt::format("{}-{}", base, i);
  }
  std::error_code ignored;
  fs::copy_file(state + "/" + kHead, folder + "/" + kHead, ignored);
  for (const std::string& name : there)
    if (std::rename((state + "/" + name).c_str(), (folder + "/" + name).c_str()) != 0)
      return fail("{}: cannot be moved to {}: {}", name, folder, std::strerror(errno));
  return folder;
}

/// Where the directory has none of its own.
Expected<void> put_missing(const std::string& state, const std::string& name,
                           const std::map<std::string, std::string>& items) {
  const auto item = items.find(name);
  if (item == items.end() || fs::exists(state + "/" + name)) return {};
  return replace_file(state + "/" + name, item->second, 0600);
}

Expected<Restored> put_in_place(const std::string& file, const std::string& state,
                                Verification found) {
  const std::string journal = state + "/journal.db", part = restoring(journal);
  const auto lock = take_part(part);
  if (!lock) return tl::make_unexpected(lock.error());
  if (auto ok = extract_journal(file, part); !ok) {
    // A full disk. No daemon may start if a restore before this one has moved the journal away.
    if (fs::exists(journal)) ::unlink(part.c_str()), ::unlink((part + "-journal").c_str());
    return tl::make_unexpected(ok.error());
  }
  const auto items = read_items(file);
  auto aside = put_aside(state);
  if (!aside) return tl::make_unexpected(aside.error());
  for (const char* name : {kHead, kTokens})
    if (auto ok = put_missing(state, name, items); !ok) return tl::make_unexpected(ok.error());
  if (auto ok = publish(part, journal); !ok) return tl::make_unexpected(ok.error());
  const auto made = items.find("made");
  return Restored{std::move(found), made == items.end() ? "" : made->second, *aside};
}

}  // namespace

Expected<void> check_not_restoring(const std::string& journal) {
  if (::access(restoring(journal).c_str(), F_OK) != 0) return {};
  return fail(
      "{}: a restore was begun and not finished; run trainyard restore again, which loses nothing",
      restoring(journal));
}

Expected<Restored> restore_backup(const std::string& file, const std::string& state) {
  // Whoever writes a backup decides as which user its jobs run.
  if (auto ours = check_not_others(file); !ours)
    return fail("{}; if it is what you want, restore a copy that is yours alone",
                ours.error().message);
  auto found = verify_journal(file);
  if (!found) return tl::make_unexpected(found.error());
  if (!found->structure.empty()) return fail("{}: is damaged: {}", file, found->structure.front());
  const auto directory = StateDirectory::take(state);
  if (!directory) return tl::make_unexpected(directory.error());
  return attempt_on(file, [&] { return put_in_place(file, directory->path(), std::move(*found)); });
}

}  // namespace trainyard
