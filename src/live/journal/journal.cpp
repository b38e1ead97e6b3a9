#include "live/journal/journal.h"

#include <fcntl.h>
#include <fmt/ranges.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>
#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <nlohmann/json.hpp>

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
  const std::lock_guard lock(reading_mutex_);
  auto found = attempt(path_, "read", [&] { return work(*reading_); });
  reading_->settle();
  return found;
}

Journal::Journal(System& system, std::string path, std::unique_ptr<Tables> writing,
                 std::unique_ptr<Tables> reading)
    : system_(system),
      path_(std::move(path)),
      writing_(std::move(writing)),
      reading_(std::move(reading)),
      next_bound_(kLargeLog),
      seldom_(system.log()) {
  if (!system.has_threads()) return;
  checkpointer_ = std::jthread([this](const std::stop_token& stop) { checkpoint_until(stop); });
}

Journal::~Journal() = default;

/// On a connection of its own: within a commit it would take tens of milliseconds of somebody's
/// wait. Who reads or writes meanwhile is not disturbed, but then the log only grows: see
/// bound_log().
void Journal::checkpoint() const {
  (void)attempt(path_, "checkpointed", [&]() -> Expected<void> {
    SQLite::Database(path_, SQLite::OPEN_READWRITE).exec("PRAGMA wal_checkpoint(PASSIVE)");
    return {};
  });
}

void Journal::checkpoint_until(const std::stop_token& stop) const {
  constexpr auto kBetween = std::chrono::seconds(1);
  std::mutex mutex;
  std::condition_variable_any stopped;
  std::unique_lock lock(mutex);
  while (!stopped.wait_for(lock, stop, kBetween, [] { return false; }) && !stop.stop_requested())
    checkpoint();
}

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

Expected<std::unique_ptr<Journal>> Journal::open(System& system, const std::string& path) {
  if (auto ok = make_private(path); !ok) return tl::make_unexpected(ok.error());
  return attempt(path, "opened", [&]() -> Expected<std::unique_ptr<Journal>> {
    auto writing = std::make_unique<Tables>(path, SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
    writing->db.setBusyTimeout(kWriterPatienceMs);
    const int version = writing->db.execAndGet("PRAGMA user_version").getInt();
    if (version > Tables::kVersion)
      return fail("{}: written by a newer version (format {}, this one reads up to {})", path,
                  version, Tables::kVersion);
    writing->db.exec(
        "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 0");
    if (version == 0) writing->create();
    if (version > 0 && version < Tables::kVersion) writing->migrate(version);
    if (auto ok = sync_log(writing->db); !ok) return tl::make_unexpected(ok.error());
    auto reading = std::make_unique<Tables>(path, SQLite::OPEN_READONLY);
    reading->db.setBusyTimeout(kReaderPatienceMs);
    std::unique_ptr<Journal> journal(
        new Journal(system, path, std::move(writing), std::move(reading)));
    journal->recall();
    journal->recall_head();
    return journal;
  });
}

/// Throws what SQLite throws.
void Journal::recall() {
  SQLite::Database& db = reading_->db;
  SQLite::Statement number(db, "SELECT max(number) FROM job");
  if (number.executeStep()) known_.last_number = number.getColumn(0).getInt64();
  SQLite::Statement last(db, "SELECT sequence, at FROM event ORDER BY sequence DESC LIMIT 1");
  if (last.executeStep())
    known_.last_event = last.getColumn(0).getInt64(), known_.last_time.us = last.getColumn(1);
  SQLite::Statement rows(db, "SELECT key, value FROM setting");
  while (rows.executeStep())
    known_.settings[rows.getColumn(0).getString()] = rows.getColumn(1).getString();
}

void Journal::remember(const JournalChange& change) {
  for (const JobRecord* job : change.submitted)
    known_.last_number = std::max(known_.last_number, job->number);
  for (const LiveEvent& event : change.events)
    known_.last_event = event.sequence, known_.last_time = event.at;
  for (const auto& [key, value] : change.settings) known_.settings[key] = value;
}

/// What it was, beside what it is.
void Journal::recall_head() {
  if (const auto own = setting("head")) head_ = parse_journal_head(*own).value_or(JournalHead{});
  const auto text = read_small_file(path_ + ".head");
  const auto was = text ? parse_journal_head(*text) : std::nullopt;
  if (!was) return;
  loss_ = describe_loss(head_, *was);
  lost_number_ = was->last_number;
  head_.commits = std::max(head_.commits, was->commits);  // so that the next head is no loss
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
  for (const JobRecord* job : change.submitted) highest = std::max(highest, job->submission());
  for (const JobRecord* job : change.submitted) highest = std::max(highest, job->number);
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
    for (const JobRecord* job : change.submitted) writing_->insert(*job);
    for (const JobRecord* job : change.changed) writing_->update(*job);
    for (const LiveEvent& event : change.events) writing_->insert(event);
    for (const auto& [key, value] : change.settings) writing_->set(key, value);
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
    while (rows.executeStep()) {
      jobs.push_back(Tables::read_job(rows));
    }
    return jobs;
  });
}

Expected<std::optional<JobRecord>> Journal::find(JobNumber number) const {
  return read([&](Tables& tables) -> Expected<std::optional<JobRecord>> {
    SQLite::Statement& row = tables.statement(Tables::select_jobs() + "WHERE job.number = ?");
    row.bind(1, number);
    if (!row.executeStep()) return std::optional<JobRecord>();
    return std::optional(Tables::read_job(row));
  });
}

Expected<JobPayload> Journal::payload(JobNumber submission) const {
  return read([&](Tables& tables) -> Expected<JobPayload> {
    SQLite::Statement& row = tables.statement("SELECT payload FROM payload WHERE number = ?");
    row.bind(1, submission);
    if (!row.executeStep()) return JobPayload{};
    const nlohmann::json j = nlohmann::json::parse(row.getColumn(0).getString(), nullptr, false);
    if (j.is_discarded())
      return fail("job {}: its script and environment cannot be read", submission);
    return JobPayload{j.at("script"), j.at("environment"),
                      j.value("command", std::vector<std::string>())};
  });
}

Expected<std::optional<Journal::ArrayTally>> Journal::tally(JobNumber array) const {
  return read([&](Tables& tables) -> Expected<std::optional<ArrayTally>> {
    SQLite::Statement& row = tables.statement(
        "SELECT user, uid, gid, sum(ended IS NULL), sum(ended IS NOT NULL AND state != 'done') "
        "FROM job WHERE array = ? GROUP BY array");
    row.bind(1, array);
    if (!row.executeStep()) return std::optional<ArrayTally>();
    ArrayTally found;
    found.owner.user = row.getColumn(0).getString();
    found.owner.uid = static_cast<uid_t>(row.getColumn(1).getInt64());
    found.owner.gid = static_cast<gid_t>(row.getColumn(2).getInt64());
    found.unfinished = static_cast<std::size_t>(row.getColumn(3).getInt64());
    found.not_done = static_cast<std::size_t>(row.getColumn(4).getInt64());
    return std::optional(found);
  });
}

Expected<std::optional<JobNumber>> Journal::born(const std::string& name) const {
  return read([&](Tables& tables) -> Expected<std::optional<JobNumber>> {
    SQLite::Statement& row = tables.statement("SELECT number FROM born WHERE name = ?");
    row.bind(1, name);
    if (!row.executeStep()) return std::optional<JobNumber>();
    const JobNumber number = row.getColumn(0).getInt64();
    return std::optional(number);
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
      page.jobs.push_back(Tables::read_job(rows));
    }
    return page;
  });
}

/// On a connection of its own: between two such pages it holds up nobody, nor the log.
Expected<std::vector<JobRecord>> Journal::ended_after(const JobFilter& of, JobNumber after) const {
  return attempt(path_, "read", [&]() -> Expected<std::vector<JobRecord>> {
    Tables own(path_, SQLite::OPEN_READONLY);
    own.db.setBusyTimeout(kReaderPatienceMs);
    std::string where = "WHERE ended IS NOT NULL AND job.number > ?1 AND (?2 IS NULL OR user = ?2)";
    if (of.uid) where += fmt::format(" AND uid = {}", *of.uid);
    SQLite::Statement rows(own.db, Tables::select_jobs() + where +
                                       fmt::format(" ORDER BY job.number LIMIT {}", kRowsAtOnce));
    rows.bind(1, after);
    if (of.user) rows.bind(2, *of.user);
    std::vector<JobRecord> page;
    while (rows.executeStep()) page.push_back(Tables::read_job(rows));
    return page;
  });
}

Expected<std::vector<LiveEvent>> Journal::events(std::int64_t after, std::size_t limit) const {
  return read([&](Tables& tables) -> Expected<std::vector<LiveEvent>> {
    SQLite::Statement& rows = tables.statement(
        "SELECT sequence, at, kind, job, user, details FROM event WHERE sequence > ? "
        "ORDER BY sequence LIMIT ?");
    rows.bind(1, after);
    rows.bind(2, static_cast<std::int64_t>(limit));
    std::vector<LiveEvent> events;
    while (rows.executeStep())
      events.push_back({rows.getColumn(0).getInt64(), Time{rows.getColumn(1).getInt64()},
                        rows.getColumn(2).getString(), rows.getColumn(3).getInt64(),
                        rows.getColumn(4).getString(), rows.getColumn(5).getString()});
    return events;
  });
}

JobNumber Journal::last_number() const {
  return std::max({known_.last_number, head_.last_number, lost_number_});
}

std::optional<std::string> Journal::setting(const std::string& key) const {
  const auto found = known_.settings.find(key);
  return found == known_.settings.end() ? std::nullopt : std::optional(found->second);
}

Expected<std::size_t> Journal::compact(Time ended_before, std::size_t limit,
                                       const std::function<void(const JobRecord&)>& erased) {
  if (auto ok = system_.before("journal.compact"); !ok) return tl::make_unexpected(ok.error());
  auto done = attempt(path_, "compacted", [&]() -> Expected<std::size_t> {
    std::vector<JobRecord> old;
    SQLite::Statement rows(
        writing_->db,
        Tables::select_jobs() +
            "WHERE ended >= coalesce((SELECT value FROM setting WHERE key = 'compacted'), 0) + 0 "
            "AND ended < ? AND EXISTS (SELECT 1 FROM event WHERE event.job = job.number) "
            "ORDER BY ended LIMIT ?");
    rows.bind(1, ended_before.us);
    rows.bind(2, static_cast<std::int64_t>(limit));
    while (rows.executeStep()) old.push_back(Tables::read_job(rows));
    rows.reset();
    if (old.empty()) return 0U;
    for (const JobRecord& job : old) erased(job);  // first: what is stripped is not found again
    SQLite::Transaction transaction(writing_->db, SQLite::TransactionBehavior::IMMEDIATE);
    for (const JobRecord& job : old) writing_->strip(job);
    writing_->set("compacted", std::to_string(old.back().life.state.since.us));
    transaction.commit();
    return old.size();
  });
  writing_->settle();
  if (done) system_.after("journal.compact");
  return done;
}

}  // namespace trainyard
