#include "live/system/audit_log.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "live/system/sha256.h"
#include "live/system/utc.h"

namespace trainyard {
namespace {

using nlohmann::json;

constexpr off_t kAhead = off_t{256} << 10;  // space that is reserved for the next lines
constexpr std::size_t kLongestText = 200;   // of what users have a say in
constexpr std::size_t kLongestLine = 8 << 10;
constexpr std::size_t kMostProblems = 10;

std::string no_hash() {
  return std::string(64, '0');
}

/// Holds the lock of a file as long as it lives.
class FileLock {
 public:
  explicit FileLock(int file) : file_(file) { is_held_ = ::flock(file, LOCK_EX) == 0; }
  ~FileLock() { ::flock(file_, LOCK_UN); }
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;
  explicit operator bool() const { return is_held_; }

 private:
  int file_;
  bool is_held_;
};

std::string line_of(const AuditEntry& entry, std::uint64_t number, const std::string& before) {
  const auto cut = [](const std::string& text) { return text.substr(0, kLongestText); };
  nlohmann::ordered_json line{
      {"line", number},          {"at", format_utc(entry.at)}, {"at_us", entry.at.us},
      {"user", cut(entry.user)}, {"uid", entry.uid},           {"via", cut(entry.via)},
      {"from", entry.from},      {"act", entry.act},           {"object", cut(entry.object)},
      {"outcome", entry.outcome}};
  if (!entry.why.empty()) line["why"] = cut(entry.why);
  if (entry.of > 0) line["of"] = entry.of;
  if (entry.left_out > 0) line["left_out"] = entry.left_out;
  line["before"] = before;
  return line.dump(-1, ' ', false, json::error_handler_t::replace);
}

/// audit.1.log, audit.2.log ... by number.
std::vector<std::pair<std::uint64_t, std::string>> older_files(const std::string& folder) {
  std::vector<std::pair<std::uint64_t, std::string>> files;
  std::error_code problem;
  for (const auto& entry : std::filesystem::directory_iterator(folder, problem)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with("audit.") || !name.ends_with(".log") || name.size() < 11) continue;
    const std::string digits = name.substr(6, name.size() - 10);
    if (digits.find_first_not_of("0123456789") == std::string::npos && digits.size() < 10)
      files.emplace_back(std::stoull(digits), entry.path().string());
  }
  std::ranges::sort(files);
  return files;
}

/// The end of a file: its last line, and whether that is whole.
struct Tail {
  std::string line;
  bool is_torn = false;
};

Expected<Tail> tail_of(int file) {
  struct stat facts {};
  if (::fstat(file, &facts) != 0) return fail("cannot be looked at: {}", std::strerror(errno));
  const off_t begin = std::max<off_t>(0, facts.st_size - static_cast<off_t>(kLongestLine) - 1);
  std::string text(static_cast<std::size_t>(facts.st_size - begin), '\0');
  if (::pread(file, text.data(), text.size(), begin) != std::ssize(text))
    return fail("cannot be read: {}", std::strerror(errno));
  Tail tail;
  tail.is_torn = !text.empty() && text.back() != '\n';
  if (!text.empty() && !tail.is_torn) text.pop_back();
  tail.line = text.substr(text.rfind('\n') + 1);
  return tail;
}

}  // namespace

AuditLog::AuditLog(System& system, const std::string& state_directory, off_t file_bytes)
    : system_(system),
      folder_(state_directory),
      path_(state_directory + "/audit.log"),
      file_bytes_(file_bytes) {}

/// Opens the file again if another process has renamed it.
Expected<void> AuditLog::open_locked() {
  struct stat at_path {
  }, opened{};
  const bool is_same = file_ && ::stat(path_.c_str(), &at_path) == 0 &&
                       ::fstat(file_.get(), &opened) == 0 && at_path.st_ino == opened.st_ino &&
                       at_path.st_dev == opened.st_dev;
  if (is_same) return {};
  file_ =
      Descriptor(::open(path_.c_str(), O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file_) return fail("{}: cannot be opened: {}", path_, std::strerror(errno));
  known_size_ = -1;
  reserved_ = 0;
  return {};
}

Expected<AuditLog::End> AuditLog::find_end() const {
  auto tail = tail_of(file_.get());
  if (!tail) return fail_at(path_, tail.error());
  const auto older = older_files(folder_);
  if (tail->line.empty() && !older.empty()) {
    const Descriptor last(::open(older.back().second.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
    tail = tail_of(last.get());
    if (!tail) return fail_at(older.back().second, tail.error());
    tail->is_torn = false;  // that file is over
  }
  if (tail->line.empty()) return End{0, no_hash(), false};
  // A line that is torn has no number: the next takes the one after the largest that can be read.
  const json line = json::parse(tail->line, nullptr, false);
  End end{0, sha256(tail->line), tail->is_torn};
  if (line.is_object() && line.contains("line")) {
    end.number = line["line"].get<std::uint64_t>();
  } else {
    const auto all = read_audit(folder_, [](const AuditLine&) {});
    if (all) end.number = all->last;
  }
  return end;
}

Expected<void> AuditLog::rotate() {
  const auto older = older_files(folder_);
  const std::uint64_t number = older.empty() ? 1 : older.back().first + 1;
  const std::string name = fmt::format("{}/audit.{}.log", folder_, number);
  if (::rename(path_.c_str(), name.c_str()) != 0)
    return fail("{}: cannot be renamed: {}", path_, std::strerror(errno));
  return {};
}

void AuditLog::reserve(off_t size) {
  if (size + kAhead / 2 <= reserved_) return;
  if (::fallocate(file_.get(), FALLOC_FL_KEEP_SIZE, size, kAhead) == 0) reserved_ = size + kAhead;
}

Expected<void> AuditLog::write(const std::string& line, off_t size) {
  const std::string text = (end_.is_torn ? "\n" : "") + line + "\n";
  if (write_all(file_.get(), text)) return {};
  const int why = errno;
  // What was written of it goes again: half a line would be in the chain for ever.
  std::ignore = ::ftruncate(file_.get(), size);
  return fail("{}: cannot be written: {}", path_, std::strerror(why));
}

Expected<std::uint64_t> AuditLog::append(const AuditEntry& entry) {
  if (auto ok = system_.before("audit.append"); !ok) return tl::make_unexpected(ok.error());
  std::uint64_t number = 0;
  {
    const std::lock_guard guard(mutex_);
    if (auto ok = open_locked(); !ok) return tl::make_unexpected(ok.error());
    const FileLock lock(file_.get());
    struct stat facts {};
    if (!lock || ::fstat(file_.get(), &facts) != 0)
      return fail("{}: cannot be locked: {}", path_, std::strerror(errno));
    struct stat at_path {};
    if (::stat(path_.c_str(), &at_path) != 0 || at_path.st_ino != facts.st_ino)
      return fail("{}: was renamed while it was opened; try again", path_);
    if (facts.st_size != known_size_) {
      auto end = find_end();
      if (!end) return tl::make_unexpected(end.error());
      end_ = *std::move(end);
    }
    reserve(facts.st_size);
    const std::string line = line_of(entry, end_.number + 1, end_.hash);
    if (auto ok = write(line, facts.st_size); !ok) return tl::make_unexpected(ok.error());
    number = end_.number + 1;
    known_size_ = facts.st_size + std::ssize(line) + 1 + (end_.is_torn ? 1 : 0);
    end_ = {number, sha256(line), false};
    if (known_size_ >= file_bytes_)
      if (auto ok = rotate(); !ok) system_.log().write(LogLevel::error, ok.error().message);
  }
  if (auto ok = sync(number); !ok) return tl::make_unexpected(ok.error());
  system_.after("audit.append");
  return number;
}

/// Lines that were written meanwhile share a sync.
Expected<void> AuditLog::sync(std::uint64_t number) {
  const std::lock_guard lock(sync_mutex_);
  if (synced_ >= number) return {};
  std::uint64_t written = 0;
  int file = -1;
  {
    const std::lock_guard guard(mutex_);
    written = end_.number;
    file = ::dup(file_.get());
  }
  const Descriptor held(file);
  if (::fdatasync(held.get()) != 0)
    return fail("{}: cannot be forced to disk: {}", path_, std::strerror(errno));
  synced_ = written;
  return {};
}

// --- Reading -------------------------------------------------------------------------------------

namespace {

std::string text_in(const json& line, const char* field) {
  const auto found = line.find(field);
  return found != line.end() && found->is_string() ? found->get<std::string>() : "";
}

template <class T>
T number_in(const json& line, const char* field) {
  const auto found = line.find(field);
  return found != line.end() && found->is_number_integer() ? found->get<T>() : T{};
}

AuditLine line_from(const json& line) {
  return {number_in<std::uint64_t>(line, "line"),
          {{number_in<std::int64_t>(line, "at_us")},
           text_in(line, "user"),
           number_in<uid_t>(line, "uid"),
           text_in(line, "via"),
           text_in(line, "from"),
           text_in(line, "act"),
           text_in(line, "object"),
           text_in(line, "outcome"),
           text_in(line, "why"),
           number_in<std::uint64_t>(line, "of"),
           number_in<std::uint64_t>(line, "left_out")}};
}

/// Goes through the lines of all files.
class ChainReader {
 public:
  explicit ChainReader(const std::function<void(const AuditLine&)>& take) : take_(take) {}

  void read_line(const std::string& where, const std::string& text) {
    const json line = json::parse(text, nullptr, false);
    const bool is_whole = line.is_object() && line.contains("line") && line.contains("before");
    if (!is_whole) {
      report(fmt::format("{}: is not a line of the audit; it was torn or changed", where));
    } else {
      check(where, line);
      take_(line_from(line));
    }
    verdict.last_hash = sha256(text);
  }
  AuditVerdict verdict;

 private:
  void report(std::string problem) {
    if (verdict.problems.size() < kMostProblems) verdict.problems.push_back(std::move(problem));
  }
  void check(const std::string& where, const json& line) {
    const auto number = number_in<std::uint64_t>(line, "line");
    const bool is_first = ++verdict.lines == 1;
    if (is_first) verdict.first = number;
    // The first line that is still there may have others before it, in files that were put away.
    if (is_first && number == 1 && text_in(line, "before") != no_hash())
      report(fmt::format("{}: line 1 names a line before it", where));
    if (!is_first && text_in(line, "before") != verdict.last_hash)
      report(
          fmt::format("{}: line {} does not follow on the line before it, which was changed or "
                      "removed",
                      where, number));
    else if (!is_first && number != verdict.last + 1)
      report(fmt::format("{}: line {} follows on line {}", where, number, verdict.last));
    verdict.last = number;
  }

  const std::function<void(const AuditLine&)>& take_;
};

}  // namespace

Expected<AuditVerdict> read_audit(const std::string& state_directory,
                                  const std::function<void(const AuditLine&)>& take) {
  auto files = older_files(state_directory);
  files.emplace_back(0, state_directory + "/audit.log");
  ChainReader reader(take);
  for (const auto& [number, path] : files) {
    std::ifstream file(path);
    if (!file && std::filesystem::exists(path))
      return fail("{}: cannot be read: {}", path, std::strerror(errno));
    if (!file) continue;
    ++reader.verdict.files;
    std::uint64_t row = 0;
    for (std::string text; std::getline(file, text);)
      reader.read_line(fmt::format("{}:{}", path, ++row), text);
  }
  return reader.verdict;
}

}  // namespace trainyard
