// Descriptors that close themselves, and small files that are read and replaced as a whole.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "base/error.h"

namespace trainyard {

class Descriptor {
 public:
  explicit Descriptor(int fd = -1) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept;
  ~Descriptor() { reset(); }

  [[nodiscard]] int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  void reset();
  /// Whoever calls it closes it.
  [[nodiscard]] int release() { return std::exchange(fd_, -1); }

 private:
  int fd_;
};

/// A file of ours of at most `limit` bytes. For those of users there is user_files.h.
Expected<std::string> read_small_file(const std::string& path, std::size_t limit = 16U << 20U);

/// Whole or not at all, for whoever reads it while the machine is up. It is not forced to disk:
/// what it describes are processes, and those do not survive a power failure either.
Expected<void> replace_file(const std::string& path, std::string_view text, mode_t mode);

/// Only where nothing of that name exists. `mode` holds whatever the umask is.
Expected<void> create_file(const std::string& path, std::string_view text, mode_t mode);

/// What must exist and be writable already: the files of a control group.
bool write_to(const std::string& path, std::string_view text);

bool write_all(int fd, std::string_view text);

}  // namespace trainyard
