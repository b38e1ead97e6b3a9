#include "base/atomic_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>

namespace trainyard {
namespace {

/// Until the bytes are on disk a rename could leave an empty file after a power failure.
bool sync_to_disk(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  const bool synced = ::fsync(file) == 0;
  ::close(file);
  return synced;
}

/// A device or a pipe cannot be replaced, and must not be: it is written to as it is.
bool is_special(const std::string& path) {
  std::error_code none;
  return std::filesystem::exists(path, none) && !std::filesystem::is_regular_file(path, none);
}

std::string part_of(const std::string& path) {
  return fmt::format("{}.{}.part", path, ::getpid());
}

tl::unexpected<Error> cannot_be_written(const std::string& path, int why) {
  return fail("{}: cannot be written: {}", path, std::strerror(why));
}

}  // namespace

Expected<void> write_file_atomically(const std::string& path,
                                     const std::function<void(std::ostream&)>& write) {
  const bool special = is_special(path);
  const std::string part = special ? path : part_of(path);
  errno = 0;
  std::ofstream out(part, std::ios::binary | std::ios::trunc);
  if (!out) return cannot_be_written(path, errno);
  write(out);
  out.close();
  if (special && out) return {};
  if (!special && out && sync_to_disk(part) && std::rename(part.c_str(), path.c_str()) == 0)
    return {};
  const int why = errno;
  if (!special) std::remove(part.c_str());
  return cannot_be_written(path, why);
}

Expected<void> check_writable(const std::string& path) {
  std::error_code none;
  if (std::filesystem::is_directory(path, none)) return cannot_be_written(path, EISDIR);
  if (is_special(path)) {
    if (::access(path.c_str(), W_OK) != 0) return cannot_be_written(path, errno);
    return {};
  }
  const std::string part = part_of(path);
  errno = 0;
  if (!std::ofstream(part)) return cannot_be_written(path, errno);
  std::remove(part.c_str());
  return {};
}

}  // namespace trainyard
