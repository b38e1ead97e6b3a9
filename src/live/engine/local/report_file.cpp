#include "live/engine/local/report_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "live/system/files.h"

namespace trainyard {
namespace {

constexpr off_t kMostBytes = 64 * 1024;

}  // namespace

ReportFile::ReportFile(const std::string& directory, uid_t owner)
    : path_(directory + "/report.json"), owner_(owner) {}

std::optional<JobProgress> ReportFile::read() {
  const Descriptor file(
      ::open(path_.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  struct stat about {};
  if (!file || ::fstat(file.get(), &about) != 0) return std::nullopt;
  if (!S_ISREG(about.st_mode) || about.st_size > kMostBytes || about.st_uid != owner_ ||
      about.st_nlink > 1)
    return std::nullopt;
  const Version version{.file = about.st_ino,
                        .bytes = about.st_size,
                        .changed_ns = about.st_mtim.tv_sec * 1'000'000'000 + about.st_mtim.tv_nsec};
  if (version == seen_) return std::nullopt;
  seen_ = version;
  std::string text(static_cast<std::size_t>(about.st_size), '\0');
  const ssize_t got = ::read(file.get(), text.data(), text.size());
  if (got < 0) return std::nullopt;
  text.resize(static_cast<std::size_t>(got));
  const auto progress = parse_progress(text);
  if (!progress || told_ == *progress) return std::nullopt;
  return told_ = *progress;
}

}  // namespace trainyard
