#include "live/journal/journal.h"

#include <fcntl.h>
#include <fmt/ranges.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>
#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <nlohmann/json.hpp>

#include "live/journal/backup.h"
#include "live/journal/journal_space.h"
#include "live/journal/tables.h"
#include "live/system/files.h"

namespace trainyard {
namespace {

/// SQLite makes its files readable for all; scripts and environments are nobody else's.
Expected<void> make_private(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (file < 0) return fail("{}: cannot be opened: {}", path, std::strerror(errno));
  const bool ok = ::fchmod(file, 0600) == 0;
  ::close(file);
  if (!ok) return fail("{}: cannot be made private: {}", path, std::strerror(errno));
  return {};
}

/// What SQLite throws, as a value, and what an operator can do about a file that is damaged.
template <class Work>
auto attempt(const std::string& path, const char* what, Work work) -> decltype(work()) {
  constexpr const char* kWhatToDo =
      "; jobs that run go on. With the daemon ended, move the file away together with those that "
      "end in -wal and -shm; then put a backup in its place, or start without one: a new journal "
      "begins, and what still runs is taken up";
  try {
    return work();
  } catch (const SQLite::Exception& error) {
    const bool is_damaged =
        error.getErrorCode() == SQLITE_CORRUPT || error.getErrorCode() == SQLITE_NOTADB;
    return fail("{}: the journal cannot be {}: {}{}", path, what, error.what(),
                is_damaged ? kWhatToDo : "");
  } catch (const std::exception& error) {
    return fail("{}: the journal cannot be {}: {}", path, what, error.what());
  }
}

// So long each waits for a lock that others have: a foreign program's too.
constexpr int kWriterPatienceMs = 1000, kReaderPatienceMs = 1000, kCheckpointPatienceMs = 500;

/// The write-ahead log is emptied when it has grown so large, and not only copied in passing.
constexpr std::uintmax_t kLargeLog = std::uintmax_t{32} << 20;
constexpr std::int64_t kRowsAtOnce = 500;

/// The write-ahead log, which is open once something was read; null before.
sqlite3_file* log_of(SQLite::Database& db) {
  sqlite3_file* log = nullptr;
  const int found =
      sqlite3_file_control(db.getHandle(), "main", SQLITE_FCNTL_JOURNAL_POINTER, &log);
  return found == SQLITE_OK && log != nullptr && log->pMethods != nullptr ? log : nullptr;
}

/// In bytes.
std::uintmax_t log_size(SQLite::Database& db) {
  sqlite3_file* log = log_of(db);
  sqlite3_int64 size = 0;
  if (log == nullptr || log->pMethods->xFileSize(log, &size) != SQLITE_OK) return 0;
  return static_cast<std::uintmax_t>(size);
}

/// A daemon that was killed within a commit may have written all of it and synced none: what is
/// read from now on, and shown, would be gone after a power failure.
Expected<void> sync_log(SQLite::Database& db) {
  sqlite3_file* log = log_of(db);
  if (log == nullptr || log->pMethods->xSync(log, SQLITE_SYNC_FULL) == SQLITE_OK) return {};
  return fail("the journal cannot be opened: its log cannot be synced");
}

}  // namespace

/// With statements that end where the work does, however it ends: one that is left in the middle
/// holds the state that it saw, which keeps the log from being emptied and, for the writer, a
/// second transaction from being begun.
template <class Work>
auto Journal::read(Work work) const {
  std::unique_ptr<Tables> reader;
  auto found = attempt(path_, "read", [&] {
    reader = take_reader();
    return work(*reader);
  });
  if (reader != nullptr) reader->settle(), tell_damage(*reader);
  put_back(std::move(reader));
  return found;
}

/// One that nobody uses, or a new one. Throws what SQLite throws; then there is one less.
std::unique_ptr<Journal::Tables> Journal::take_reader() const {
  constexpr std::size_t kMost = 16;
  std::unique_lock lock(reading_mutex_);
  reader_is_back_.wait(lock, [&] { return !readers_.empty() || readers_made_ < kMost; });
  if (!readers_.empty()) {
    auto reader = std::move(readers_.back());
    readers_.pop_back();
    return reader;
  }
  ++readers_made_;
  lock.unlock();
  auto reader = std::make_unique<Tables>(path_, SQLite::OPEN_READONLY);
  reader->db.setBusyTimeout(kReaderPatienceMs);
  return reader;
}

/// Null: it could not be made.
void Journal::put_back(std::unique_ptr<Tables> reader) const {
  const std::lock_guard lock(reading_mutex_);
  if (reader != nullptr)
    readers_.push_back(std::move(reader));
  else
    --readers_made_;
  reader_is_back_.notify_one();
}

Journal::Journal(System& system, std::string path, std::unique_ptr<Tables> writing)
    : system_(system),
      path_(std::move(path)),
      writing_(std::move(writing)),
      space_(std::make_unique<JournalSpace>(*writing_)),
      next_bound_(kLargeLog),
      seldom_(system.log()),
      lived_(system),
      checkpointer_(system, path_) {}

Journal::~Journal() = default;

/// Readers that follow each other without a gap, and a writer that is faster than the checkpoints,
/// would have the log grow without end. Here nobody writes, all of ours read briefly, and who comes
/// new reads past the log: so it is empty within the time that the longest of them takes. A foreign
/// reader that stays may keep it; then it is tried again when it has grown by an eighth.
void Journal::bound_log() {
  const std::uintmax_t size = log_size(writing_->db);
  if (size < next_bound_) return;
  (void)attempt(path_, "checkpointed", [&]() -> Expected<void> {
    writing_->db.setBusyTimeout(kCheckpointPatienceMs);
    const bool is_busy = writing_->db.execAndGet("PRAGMA wal_checkpoint(TRUNCATE)").getInt() != 0;
    next_bound_ = is_busy ? size + size / 8 : kLargeLog;
    if (is_busy && size > 8 * kLargeLog)
      seldom_.write(
          LogLevel::warning,
          fmt::format("{}-wal: has {} MiB, as somebody reads the journal and does not end", path_,
                      size >> 20U));
    return {};
  });
  writing_->db.setBusyTimeout(kWriterPatienceMs);
}

/// A daemon that dies while it makes the file leaves a rollback journal. SQLite plays it back and
/// removes it, but does not sync the directory: after a power failure the file could be there again
/// and undo all commits since. So a journal without a format is opened twice: closing it removes
/// its write-ahead log, and the first sync of a new one syncs the directory.
std::unique_ptr<Journal::Tables> Journal::open_to_write(const std::string& path) {
  auto tables = std::make_unique<Tables>(path, SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
  tables->db.setBusyTimeout(kWriterPatienceMs);
  return tables;
}

Expected<std::unique_ptr<Journal>> Journal::open(System& system, const std::string& path) {
  if (auto ok = check_not_restoring(path); !ok) return tl::make_unexpected(ok.error());
  if (auto ok = make_private(path); !ok) return tl::make_unexpected(ok.error());
  return attempt(path, "opened", [&]() -> Expected<std::unique_ptr<Journal>> {
    auto writing = open_to_write(path);
    const int version = writing->db.execAndGet("PRAGMA user_version").getInt();
    if (version == 0) writing.reset(), writing = open_to_write(path);
    if (version > Tables::kVersion)
      return fail("{}: written by a newer version (format {}, this one reads up to {})", path,
                  version, Tables::kVersion);
    // First of all: a file that has pages keeps the kind of them.
    if (version == 0) writing->db.exec("PRAGMA auto_vacuum = INCREMENTAL");
    // Debian's SQLite would write zeros over all that is deleted: a full disk has no room for that,
    // and 82 scripts of 3 MB took 1.8 s and 236 MiB of log instead of 0.2 s and 0.6 MiB.
    writing->db.exec(
        "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 0; "
        "PRAGMA secure_delete = FAST");
    if (version == 0) writing->create();
    if (version > 0 && version < Tables::kVersion) {
      writing->migrate(version);
      if (version < Tables::kFirstWithSums)
        JournalSpace::make_shrinkable(system, path, writing->db);
    }
    if (auto ok = sync_log(writing->db); !ok) return tl::make_unexpected(ok.error());
    std::unique_ptr<Journal> journal(new Journal(system, path, std::move(writing)));
    journal->recall();
    journal->recall_lived();
    journal->recall_head();
    return journal;
  });
}

/// Each row is named once. Thousands of lines would say no more than some.
void Journal::tell_damage(Tables& tables) const {
  constexpr std::size_t kMostTold = 1000;
  const std::lock_guard lock(damage_mutex_);
  for (const std::string& row : std::exchange(tables.damaged, {})) {
    if (told_damage_.size() >= kMostTold || !told_damage_.insert(row).second) continue;
    system_.log().write(LogLevel::error, fmt::format("the journal is damaged: {}", row));
  }
}

/// Throws what SQLite throws. Numbers that no job or event can have come from damage.
void Journal::recall() {
  constexpr std::int64_t kBeyond = std::int64_t{1} << 53;
  SQLite::Database& db = writing_->db;
  SQLite::Statement number(db, "SELECT max(number) FROM job WHERE number < ?");
  number.bind(1, kBeyond);
  if (number.executeStep()) known_.last_number = number.getColumn(0).getInt64();
  SQLite::Statement events(db, "SELECT * FROM event WHERE sequence < ? ORDER BY sequence DESC");
  events.bind(1, kBeyond);
  while (events.executeStep()) {
    const StoredRow event = whole_row(events);
    known_.last_event = std::max(known_.last_event, event.integer("sequence"));
    if (!writing_->check(event, "event")) continue;
    known_.last_time.us = event.integer("at");
    break;
  }
  SQLite::Statement rows(db, "SELECT * FROM setting");
  while (rows.executeStep()) {
    const StoredRow row = whole_row(rows);
    if (writing_->check(row, "setting")) {
      known_.settings[row.text("key")] = row.text("value");
    } else {
      known_.damaged_settings.insert(row.text("key"));
    }
  }
  tell_damage(*writing_);
}

namespace {

/// The highest number that the submission of this job takes.
JobNumber last_number_of(const JobRecord& job) {
  return job.spec.array.empty() ? job.number : job.task.array + job.task.count;
}

}  // namespace

void Journal::remember(const JournalChange& change) {
  for (const JobRecord* job : change.submitted)
    known_.last_number = std::max(known_.last_number, last_number_of(*job));
  for (const LiveEvent& event : change.events)
    known_.last_event = event.sequence, known_.last_time = event.at;
  for (const auto& [key, value] : change.settings) known_.settings[key] = value;
}

/// A count that cannot be read, or cannot be, goes on from the last that an intact row of a job was
/// marked with: jobs are then younger than they were.
void Journal::recall_lived() {
  const std::string kept = setting("lived").value_or("");
  if (const auto before = LivedTime::parse(kept)) return lived_.set_before(*before);
  SQLite::Statement marked(
      writing_->db, "SELECT number FROM job WHERE lived BETWEEN 1 AND ? ORDER BY lived DESC");
  marked.bind(1, LivedTime::kMost.us);
  bool is_found = false;
  while (!is_found && marked.executeStep()) {
    SQLite::Statement& row = writing_->statement("SELECT * FROM job WHERE number = ?");
    row.bind(1, marked.getColumn(0).getInt64());
    is_found = row.executeStep() && whole_row(row).is_intact();
    if (is_found) lived_.set_before(Duration{whole_row(row).integer("lived")});
  }
  writing_->settle();
  if (kept.empty()) return;
  system_.log().write(LogLevel::warning,
                      fmt::format("{}: the time that the daemon has lived through cannot be read: "
                                  "{}; it counts on from the last end of a job",
                                  path_, quoted(kept)));
}

/// Compares what it is with what it was. Where its own head is damaged the file's is all there is;
/// a journal with a damaged row is not a new one, which may have neither jobs nor events yet.
void Journal::recall_head() {
  const auto own = setting("head");
  const auto text = read_small_file(path_ + ".head");
  const auto was = text ? parse_journal_head(*text) : std::nullopt;
  const bool is_new =
      known_.last_event == 0 && known_.last_number == 0 && known_.damaged_settings.empty();
  head_ = own       ? parse_journal_head(*own).value_or(JournalHead{})
          : !is_new ? was.value_or(JournalHead{})
                    : JournalHead{};
  if (!was) return;
  loss_ = describe_loss(head_, *was);
  // So that the next head is no loss, and says which numbers were given.
  head_.commits = std::max(head_.commits, was->commits);
  head_.last_number = std::max(head_.last_number, was->last_number);
}

/// Behind the present one if it cannot be written, which is as good.
void Journal::write_head() const {
  const Descriptor file(
      ::open((path_ + ".head").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  std::string text = format(head_);
  text.resize(std::max<std::size_t>(text.size(), 64), ' ');  // over all of the one before
  if (file) (void)!::pwrite(file.get(), text.data(), text.size(), 0);
}

namespace {

/// One commit's mark in the chain: what happened, and to whom.
JournalHead next_head(JournalHead head, const JournalChange& change) {
  JobNumber highest = 0;
  std::string content;
  for (const JobRecord* job : change.submitted)
    highest = std::max({highest, job->submission(), last_number_of(*job)});
  for (const LiveEvent& event : change.events)
    content += fmt::format("{} {} {} {};", event.sequence, event.at.us, event.kind, event.job);
  head.add(content, highest);
  return head;
}

}  // namespace

Expected<void> Journal::commit(const JournalChange& change) {
  if (change.empty()) return {};
  if (auto ok = system_.before("journal.commit"); !ok) return ok;
  const JournalHead next = next_head(head_, change);
  auto done = attempt(path_, "written", [&]() -> Expected<void> {
    // At once for writing: what others hold is waited for here, and nowhere within.
    SQLite::Transaction transaction(writing_->db, SQLite::TransactionBehavior::IMMEDIATE);
    const Duration lived = lived_.now();
    writing_->array_in = 0;
    for (const JobRecord* job : change.submitted) writing_->insert(*job, lived);
    for (const JobRecord* job : change.unfolded) writing_->unfold(*job, lived);
    for (const JobRecord* job : change.changed) writing_->update(*job, lived);
    for (const JobNumber array : change.whole) writing_->end_folding(array);
    for (const JobRecord* job : change.buried) writing_->replace(*job, lived);
    for (const LiveEvent& event : change.events) writing_->insert(event);
    if (!change.buried.empty()) writing_->recount_disk_use();
    for (const auto& [key, value] : change.settings) writing_->set(key, value);
    for (const JobRecord& job : change.erased) writing_->mark_erased(job, change.erased_what);
    writing_->set("lived", std::to_string(lived.us));
    writing_->set("head", format(next));
    transaction.commit();
    return {};
  });
  writing_->settle();
  if (!done) return done;
  head_ = next;
  remember(change);
  system_.after("journal.commit");
  write_head();
  bound_log();
  return done;
}

Expected<std::vector<JobRecord>> Journal::unfinished() const {
  return read([&](Tables& tables) -> Expected<std::vector<JobRecord>> {
    std::vector<JobRecord> jobs;
    SQLite::Statement rows(tables.db,
                           Tables::select_jobs() + "WHERE ended IS NULL ORDER BY job.number");
    while (rows.executeStep()) jobs.push_back(tables.read_job(rows));
    tables.damaged.clear();  // whoever buries these tells of it
    return jobs;
  });
}

Expected<std::vector<Journal::FoldedArray>> Journal::folded() const {
  return read([&](Tables& tables) -> Expected<std::vector<FoldedArray>> {
    std::vector<FoldedArray> arrays;
    for (const JobNumber number : tables.folded_arrays())
      arrays.push_back({number, tables.folded_tasks(number)});
    tables.damaged.clear();  // whoever buries these tells of it
    return arrays;
  });
}

Expected<std::optional<JobRecord>> Journal::find(JobNumber number) const {
  return read([&](Tables& tables) -> Expected<std::optional<JobRecord>> {
    SQLite::Statement& row = tables.statement(Tables::select_jobs() + "WHERE job.number = ?");
    row.bind(1, number);
    if (!row.executeStep()) return std::optional<JobRecord>();
    return std::optional(tables.read_job(row));
  });
}

namespace {

Expected<JobPayload> read_payload(const std::string& text) try {
  const nlohmann::json j = nlohmann::json::parse(text);
  return JobPayload{
      j.at("script"), j.at("environment"), j.value("command", std::vector<std::string>()), {}};
} catch (const nlohmann::json::exception& problem) {
  return fail("{}", problem.what());
}

}  // namespace

Expected<JobPayload> Journal::payload(JobNumber submission) const {
  return read([&](Tables& tables) -> Expected<JobPayload> {
    SQLite::Statement& row = tables.statement("SELECT * FROM payload WHERE number = ?");
    row.bind(1, submission);
    JobPayload none;
    none.damage = "its script and environment are not in the journal any more";
    if (!row.executeStep()) return none;
    auto found = read_payload(whole_row(row).text("payload"));
    if (tables.check(whole_row(row), "payload") && found) return found;
    none.damage = fmt::format(
        "its script and environment are damaged in the journal (table payload, "
        "row {})",
        submission);
    return none;
  });
}

Expected<std::optional<Journal::ArrayTally>> Journal::tally(JobNumber array) const {
  return read([&](Tables& tables) -> Expected<std::optional<ArrayTally>> {
    SQLite::Statement& sums = tables.statement(
        "SELECT sum(ended IS NULL), sum(ended IS NOT NULL AND state != 'done') FROM job "
        "WHERE array = ? GROUP BY array");
    sums.bind(1, array);
    if (!sums.executeStep()) return std::optional<ArrayTally>();
    ArrayTally found;
    found.unfinished = static_cast<std::size_t>(sums.getColumn(0).getInt64());
    found.not_done = static_cast<std::size_t>(sums.getColumn(1).getInt64());
    SQLite::Statement& tasks = tables.statement("SELECT * FROM job WHERE array = ?");
    tasks.bind(1, array);
    while (tasks.executeStep()) {
      const StoredRow task = whole_row(tasks);
      found.owner.user = task.text("user");
      found.owner.uid = static_cast<uid_t>(task.integer("uid"));
      found.owner.gid = static_cast<gid_t>(task.integer("gid"));
      if (tables.check(task, "job")) break;
    }
    return std::optional(found);
  });
}

Expected<std::optional<JobNumber>> Journal::born(const std::string& name) const {
  return read([&](Tables& tables) -> Expected<std::optional<JobNumber>> {
    SQLite::Statement& row = tables.statement("SELECT * FROM born WHERE name = ?");
    row.bind(1, name);
    if (!row.executeStep() || !tables.check(whole_row(row), "born"))
      return std::optional<JobNumber>();
    return std::optional(whole_row(row).integer("number"));
  });
}

Expected<std::vector<JobNumber>> Journal::numbers(const JobName& name) const {
  return read([&](Tables& tables) -> Expected<std::vector<JobNumber>> {
    SQLite::Statement& rows = tables.statement(
        "SELECT number, NULL FROM job WHERE number = ?1 UNION ALL "
        "SELECT number, task FROM job WHERE array = ?1");
    rows.bind(1, name.number);
    std::vector<JobNumber> found;
    while (rows.executeStep()) {
      const bool is_task = !rows.getColumn(1).isNull();
      const bool is_wanted =
          name.tasks.empty() ||
          (is_task && std::ranges::binary_search(name.tasks, rows.getColumn(1).getInt()));
      if (is_wanted) found.push_back(rows.getColumn(0).getInt64());
    }
    return found;
  });
}

namespace {

/// The conditions of a filter as SQL, and the texts that its marks stand for.
struct Where {
  // The sign has SQLite go by number, from the newest on, and not look for all that have ended.
  std::string sql = "WHERE +ended IS NOT NULL";
  std::vector<std::string> texts;

  explicit Where(const JobFilter& filter) {
    const auto require = [&](const std::string& condition, const std::string& text) {
      sql += " AND " + condition;
      texts.push_back(text);
    };
    if (filter.user) require("user = ?", *filter.user);
    if (filter.uid) sql += fmt::format(" AND uid = {}", *filter.uid);
    if (filter.name) require("name = ?", *filter.name);
    if (filter.job_class) require("class = ?", std::string(name(*filter.job_class)));
    if (filter.array) sql += fmt::format(" AND array = {}", *filter.array);
    if (!filter.states.empty()) {
      const std::vector<std::string> marks(filter.states.size(), "?");
      sql += fmt::format(" AND state IN ({})", fmt::join(marks, ", "));
      for (const Phase state : filter.states) texts.emplace_back(state_name(state));
    }
    if (filter.before > 0) sql += fmt::format(" AND job.number < {}", filter.before);
    if (filter.above > 0) sql += fmt::format(" AND job.number > {}", filter.above);
    sql += " ORDER BY job.number DESC";
  }
  void bind(SQLite::Statement& statement) const {
    for (std::size_t i = 0; i < texts.size(); ++i)
      statement.bind(static_cast<int>(i) + 1, texts[i]);
  }
};

}  // namespace

Expected<JobPage> Journal::find_ended(const JobFilter& filter) const {
  return read([&](Tables& tables) -> Expected<JobPage> {
    const Where where(filter);
    SQLite::Statement rows(
        tables.db, Tables::select_jobs() + where.sql + fmt::format(" LIMIT {}", filter.limit + 1));
    where.bind(rows);
    JobPage page;
    while (rows.executeStep()) {
      if (page.jobs.size() == filter.limit) {
        page.more = true;
        break;
      }
      page.jobs.push_back(tables.read_job(rows));
    }
    return page;
  });
}

Expected<std::vector<JobRecord>> Journal::ended_after(const JobFilter& of, JobNumber after) const {
  return read([&](Tables& tables) -> Expected<std::vector<JobRecord>> {
    std::string where = "WHERE ended IS NOT NULL AND job.number > ?1 AND (?2 IS NULL OR user = ?2)";
    if (of.uid) where += fmt::format(" AND uid = {}", *of.uid);
    SQLite::Statement rows(
        tables.db,
        Tables::select_jobs() + where + fmt::format(" ORDER BY job.number LIMIT {}", kRowsAtOnce));
    rows.bind(1, after);
    if (of.user) rows.bind(2, *of.user);
    std::vector<JobRecord> page;
    while (rows.executeStep()) page.push_back(tables.read_job(rows));
    return page;
  });
}

Expected<std::vector<LiveEvent>> Journal::events(std::int64_t after, std::size_t limit) const {
  return read([&](Tables& tables) {
    return tables.events("SELECT * FROM event WHERE sequence > ? ORDER BY sequence", after, limit);
  });
}

Expected<std::vector<LiveEvent>> Journal::events_of(JobNumber job, std::size_t limit) const {
  return read([&](Tables& tables) {
    auto events =
        tables.events("SELECT * FROM event WHERE job = ? ORDER BY sequence DESC", job, limit);
    if (events) std::ranges::reverse(*events);
    return events;
  });
}

JobNumber Journal::last_number() const {
  return std::max(known_.last_number, head_.last_number);
}

std::optional<std::string> Journal::setting(const std::string& key) const {
  const auto found = known_.settings.find(key);
  return found == known_.settings.end() ? std::nullopt : std::optional(found->second);
}

bool Journal::is_setting_damaged(const std::string& key) const {
  return known_.damaged_settings.contains(key);
}

Expected<DiskUse> Journal::disk_use(uid_t user) {
  return attempt(path_, "read", [&]() -> Expected<DiskUse> { return space_->used_by(user); });
}

Expected<AllDiskUse> Journal::disk_use_of_all() {
  return attempt(path_, "read", [&]() -> Expected<AllDiskUse> { return space_->used_by_all(); });
}

Expected<bool> Journal::tidy() {
  if (auto ok = system_.before("journal.tidy"); !ok) return tl::make_unexpected(ok.error());
  auto more = attempt(path_, "tidied", [&]() -> Expected<bool> { return space_->tidy(); });
  writing_->settle();
  if (!more) return more;
  system_.after("journal.tidy");
  bound_log();
  return more;
}

namespace {

std::string mark_of(Leftover what) {
  return what == Leftover::output ? "erased_output" : "erased_checkpoints";
}

/// With ?1 and ?2 for the age. A row whose mark is missing or negative is of no age.
std::string is_left_behind(Leftover what) {
  return mark_of(what) + " IS NULL AND ended IS NOT NULL";
}
constexpr const char* kIsOld = " AND lived BETWEEN 0 AND ?1 AND ended <= ?2";

}  // namespace

Expected<std::vector<JobRecord>> Journal::left_behind(Leftover what, Age before,
                                                      std::size_t limit) const {
  return read([&](Tables& tables) -> Expected<std::vector<JobRecord>> {
    SQLite::Statement& rows =
        tables.statement(Tables::select_jobs() + "WHERE " + is_left_behind(what) + kIsOld +
                         " ORDER BY lived, job.number");
    rows.bind(1, before.lived.us);
    rows.bind(2, before.wall.us);
    std::vector<JobRecord> jobs;
    while (jobs.size() < limit && rows.executeStep())
      if (tables.check(Tables::job_row(rows), "job")) jobs.push_back(tables.read_job(rows));
    return jobs;
  });
}

Expected<Journal::LeftCount> Journal::count_left_behind(Leftover what, Age before) const {
  return read([&](Tables& tables) -> Expected<LeftCount> {
    const std::string count = "SELECT count(*) FROM job WHERE " + is_left_behind(what);
    SQLite::Statement& all = tables.statement(count);
    SQLite::Statement& old = tables.statement(count + kIsOld);
    old.bind(1, before.lived.us);
    old.bind(2, before.wall.us);
    LeftCount found;
    if (all.executeStep()) found.all = static_cast<std::size_t>(all.getColumn(0).getInt64());
    if (old.executeStep()) found.old = static_cast<std::size_t>(old.getColumn(0).getInt64());
    return found;
  });
}

}  // namespace trainyard
