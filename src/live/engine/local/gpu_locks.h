// Locks that only root can take, by which root's daemons claim the GPUs of this machine. They are
// files in /run/trainyard/gpus. Root makes the directory, nobody else can write there, and the
// files can be opened by root alone: whoever could open one, be it for reading, could lock it.
//
// A lock belongs to an open file description. A run's supervisor inherits that, so the kernel drops
// the lock with the last process that has it, and nothing is left behind but an empty file. The
// files stay: removing one while another daemon opens it would make two of it.
//
// Any user can tell whether such a file is locked, from /proc/locks, and can neither hold nor delay
// anything by asking.
#pragma once

#include <set>
#include <string>
#include <string_view>

#include "base/error.h"
#include "live/system/files.h"

namespace trainyard {

class GpuLocks {
 public:
  /// For root: makes RUN/trainyard/gpus, where it is missing. An error if a part of it is a link,
  /// belongs to another user, or can be written by others.
  static Expected<GpuLocks> open(const std::string& run);

  /// Locks the file of this name, and writes into it, for people, who does. Returns none if it is
  /// locked already.
  [[nodiscard]] Expected<Descriptor> lock(const std::string& name, std::string_view holder) const;
  /// The text that was written when it was last locked.
  [[nodiscard]] std::string holder(const std::string& name) const;
  /// The files that are locked now.
  [[nodiscard]] Expected<std::set<std::string>> locked() const;

 private:
  Descriptor directory_;
};

/// The files in RUN/trainyard/gpus that are locked now, for any user. Empty where there is no such
/// directory of root's. An error if there is one, and /proc/locks cannot be read.
Expected<std::set<std::string>> gpu_locks_of_root(const std::string& run);

}  // namespace trainyard
