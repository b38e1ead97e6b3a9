#include "live/system/state_directory.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <thread>
#include <utility>

namespace trainyard {
namespace {

/// Whoever could write into it could put words into the daemon's mouth.
Expected<void> check_owner(const std::string& path) {
  struct stat info {};
  if (::lstat(path.c_str(), &info) != 0 || !S_ISDIR(info.st_mode))
    return fail("{}: is not a directory", path);
  if (info.st_uid != ::geteuid())
    return fail("{}: belongs to user {}, not to the daemon's user {}", path, info.st_uid,
                ::geteuid());
  if (::chmod(path.c_str(), 0711) != 0)
    return fail("{}: its permissions cannot be set: {}", path, std::strerror(errno));
  return {};
}

/// One that has just been killed may take a moment to be gone.
bool lock_within(int file, std::chrono::milliseconds patience) {
  const auto until = std::chrono::steady_clock::now() + patience;
  while (::flock(file, LOCK_EX | LOCK_NB) != 0) {
    if (std::chrono::steady_clock::now() > until) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return true;
}

}  // namespace

Expected<StateDirectory> StateDirectory::take(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) return fail("{}: cannot be made: {}", path, error.message());
  const std::string absolute = std::filesystem::canonical(path, error).string();
  if (error) return fail("{}: {}", path, error.message());
  if (auto ok = check_owner(absolute); !ok) return tl::make_unexpected(ok.error());
  const std::string file = absolute + "/lock";
  const int lock = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (lock < 0) return fail("{}: cannot be opened: {}", file, std::strerror(errno));
  if (!lock_within(lock, std::chrono::seconds(1))) {
    ::close(lock);
    return fail("{}: another daemon runs on this state directory; use it, or give another --state",
                absolute);
  }
  return StateDirectory(absolute, lock);
}

StateDirectory::StateDirectory(StateDirectory&& other) noexcept
    : path_(std::move(other.path_)), lock_(std::exchange(other.lock_, -1)) {}

StateDirectory::~StateDirectory() {
  if (lock_ >= 0) ::close(lock_);
}

}  // namespace trainyard
