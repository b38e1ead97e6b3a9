#include "live/supervisor/log_segments.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>
#include <vector>

namespace trainyard {
namespace {

constexpr Duration kRetry = seconds(1);

std::string segment_path(const std::string& directory, std::int32_t worker, std::uint64_t offset) {
  return fmt::format("{}/out.{}.{}", directory, worker, offset);
}

/// Whole blocks, so that a segment takes no more of the disk than it has bytes.
std::uint64_t segment_bytes(std::int64_t limit) {
  constexpr std::int64_t kBlock = 4096, kSegments = 1 + kLastSegments;
  if (limit < kLeastOutput) return 0;
  return static_cast<std::uint64_t>(std::min(limit, kMostOutput) / kSegments / kBlock * kBlock);
}

/// The offsets of a worker's segments, in order.
Expected<std::vector<std::uint64_t>> segments(const std::string& directory, std::int32_t worker) {
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(::opendir(directory.c_str()), ::closedir);
  if (!entries) return fail("{}: cannot be read: {}", directory, std::strerror(errno));
  const std::string prefix = fmt::format("out.{}.", worker);
  std::vector<std::uint64_t> offsets;
  while (const dirent* entry = ::readdir(entries.get())) {
    std::string_view name = entry->d_name;
    if (!name.starts_with(prefix)) continue;
    name.remove_prefix(prefix.size());
    std::uint64_t offset = 0;
    const auto [end, wrong] = std::from_chars(name.data(), name.data() + name.size(), offset);
    if (wrong == std::errc() && end == name.data() + name.size()) offsets.push_back(offset);
  }
  std::sort(offsets.begin(), offsets.end());
  return offsets;
}

/// Adds the segment's bytes from `from` on; one that was dropped meanwhile has none.
void read_segment(const std::string& path, std::uint64_t from, std::size_t limit,
                  std::string& text) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!file) return;
  const std::size_t before = text.size();
  struct stat about {};
  if (::fstat(file.get(), &about) != 0 || static_cast<std::uint64_t>(about.st_size) <= from) return;
  text.resize(before + std::min<std::uint64_t>(limit, about.st_size - from));
  std::size_t filled = before;
  while (filled < text.size()) {
    const ssize_t got = ::pread(file.get(), text.data() + filled, text.size() - filled,
                                static_cast<off_t>(from + filled - before));
    if (got <= 0) break;
    filled += static_cast<std::size_t>(got);
  }
  text.resize(filled);
}

}  // namespace

LogWriter::LogWriter(std::string directory, std::int32_t worker, std::int64_t limit)
    : directory_(std::move(directory)), worker_(worker), segment_bytes_(segment_bytes(limit)) {}

void LogWriter::write(std::string_view text, Time now) {
  while (!text.empty()) {
    if (segment_bytes_ == 0) return lose(text.size(), now);
    if (segment_ && offset_ - segment_begin_ >= segment_bytes_) segment_.reset();
    if (!segment_ && (now < retry_at_ || !open_segment())) return lose(text.size(), now);
    const std::uint64_t room = segment_bytes_ - (offset_ - segment_begin_);
    const std::string_view part = text.substr(0, room);
    const ssize_t written = ::write(segment_.get(), part.data(), part.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return lose(text.size(), now);
    offset_ += static_cast<std::uint64_t>(written);
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

bool LogWriter::open_segment() {
  const std::string path = segment_path(directory_, worker_, offset_);
  segment_ = Descriptor(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!segment_) return false;
  segment_begin_ = offset_;
  if (has_first_) kept_.push_back(offset_);
  has_first_ = true;
  drop_old();
  return true;
}

/// The next segment begins behind what is lost.
void LogWriter::lose(std::size_t bytes, Time now) {
  if (segment_ && offset_ == segment_begin_) {
    ::unlink(segment_path(directory_, worker_, offset_).c_str());
    if (kept_.empty())
      has_first_ = false;
    else
      kept_.pop_back();
  }
  segment_.reset();
  offset_ += bytes;
  if (now >= retry_at_) retry_at_ = now + kRetry;
}

void LogWriter::drop_old() {
  while (kept_.size() > kLastSegments) {
    ::unlink(segment_path(directory_, worker_, kept_.front()).c_str());
    kept_.pop_front();
  }
}

std::int64_t kept_output(const std::string& directory) {
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(::opendir(directory.c_str()), ::closedir);
  if (!entries) return 0;
  constexpr std::int64_t kBlock = 512;
  struct stat about {};
  std::int64_t blocks = 0;
  const auto add = [&](const char* name) {
    if (::fstatat(::dirfd(entries.get()), name, &about, AT_SYMLINK_NOFOLLOW) == 0)
      blocks += about.st_blocks;
  };
  add(".");
  while (const dirent* entry = ::readdir(entries.get()))
    if (std::string_view(entry->d_name).starts_with("out.")) add(entry->d_name);
  return blocks * kBlock;
}

Expected<LogText> read_log(const std::string& directory, std::int32_t worker, std::uint64_t offset,
                           std::size_t limit) {
  const auto begins = segments(directory, worker);
  if (!begins) return tl::make_unexpected(begins.error());
  LogText log{.offset = offset, .text = {}};
  for (std::size_t i = 0; i < begins->size() && log.text.size() < limit; ++i) {
    const std::uint64_t begin = (*begins)[i];
    const bool is_last = i + 1 == begins->size();
    std::uint64_t from = log.offset + log.text.size();
    if (!is_last && from >= (*begins)[i + 1]) continue;
    if (from < begin) {
      if (!log.text.empty()) break;
      from = log.offset = begin;
    }
    read_segment(segment_path(directory, worker, begin), from - begin, limit - log.text.size(),
                 log.text);
  }
  return log;
}

}  // namespace trainyard
