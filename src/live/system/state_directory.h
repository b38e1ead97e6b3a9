// The directory that is the daemon's memory: journal, runs, checkpoints, socket. It belongs to one
// daemon at a time, and to one user; others may pass through it to what is theirs.
#pragma once

#include <string>

#include "base/error.h"

namespace trainyard {

class StateDirectory {
 public:
  /// Makes it if it is missing, and takes it: a second daemon is refused while this one lives,
  /// however it ends.
  static Expected<StateDirectory> take(const std::string& path);
  ~StateDirectory();
  StateDirectory(StateDirectory&& other) noexcept;
  StateDirectory& operator=(StateDirectory&&) = delete;

  /// Absolute.
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::string journal() const { return path_ + "/journal.db"; }
  [[nodiscard]] std::string socket() const { return path_ + "/socket"; }

 private:
  StateDirectory(std::string path, int lock) : path_(std::move(path)), lock_(lock) {}

  std::string path_;
  int lock_;
};

}  // namespace trainyard
