#include "live/system/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>

namespace trainyard {

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  if (this != &other) {
    reset();
    fd_ = std::exchange(other.fd_, -1);
  }
  return *this;
}

void Descriptor::reset() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

Expected<std::string> read_small_file(const std::string& path, std::size_t limit) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!file) return fail("{}: cannot be read: {}", path, std::strerror(errno));
  std::string text;
  std::array<char, 1 << 14> part;
  ssize_t got = 0;
  while ((got = ::read(file.get(), part.data(), part.size())) > 0) {
    text.append(part.data(), static_cast<std::size_t>(got));
    if (text.size() > limit) return fail("{}: longer than {} bytes", path, limit);
  }
  if (got < 0) return fail("{}: cannot be read: {}", path, std::strerror(errno));
  return text;
}

bool write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(fd, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

Expected<void> create_file(const std::string& path, std::string_view text, mode_t mode) {
  const Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode));
  if (!file) return fail("{}: cannot be made: {}", path, std::strerror(errno));
  if (write_all(file.get(), text) && ::fchmod(file.get(), mode) == 0) return {};
  const int why = errno;
  ::unlink(path.c_str());
  return fail("{}: cannot be written: {}", path, std::strerror(why));
}

Expected<void> replace_file(const std::string& path, std::string_view text, mode_t mode) {
  const std::string part = path + ".part";
  ::unlink(part.c_str());
  if (auto made = create_file(part, text, mode); !made) return made;
  if (std::rename(part.c_str(), path.c_str()) == 0) return {};
  const int why = errno;
  ::unlink(part.c_str());
  return fail("{}: cannot be replaced: {}", path, std::strerror(why));
}

bool write_to(const std::string& path, std::string_view text) {
  const Descriptor file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  // One call: what a control group's file is told must not arrive in pieces.
  return file && ::write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

}  // namespace trainyard
