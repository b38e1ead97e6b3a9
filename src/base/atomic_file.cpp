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

}  // namespace

Expected<void> write_file_atomically(const std::string& path,
                                     const std::function<void(std::ostream&)>& write) {
  // A device or a pipe cannot be replaced, and must not be: it is written to as it is.
  std::error_code none;
  const bool special =
      std::filesystem::exists(path, none) && !std::filesystem::is_regular_file(path, none);
  const std::string part = special ? path : fmt::format("{}.{}.part", path, ::getpid());
  errno = 0;
  std::ofstream out(part, std::ios::binary | std::ios::trunc);
  if (!out) return fail("{}: cannot be written: {}", path, std::strerror(errno));
  write(out);
  out.close();
  if (special && out) return {};
  if (!special && out && sync_to_disk(part) && std::rename(part.c_str(), path.c_str()) == 0)
    return {};
  const int why = errno;
  if (!special) std::remove(part.c_str());
  return fail("{}: cannot be written: {}", path, std::strerror(why));
}

}  // namespace trainyard
