// STATE/audit.log: who did what, by which token or socket, and what became of it. One line of JSON
// for each, in the order in which they were written. Lines are only ever added (O_APPEND, mode
// 0600), and each has the SHA-256 of the line before it, so that a line that was changed or removed
// is seen. The last lines can be cut off without a trace in the file itself; whoever needs to see
// that keeps the hash of the last line elsewhere (`trainyard audit --verify` prints it).
//
// At 16 MiB the file is renamed to audit.1.log, audit.2.log and so on, and the chain goes on in the
// next. These are never removed by the daemon.
//
// Several processes may write (the daemon, and `trainyard token`), and several threads of each.
// Space for the next lines is reserved ahead, so that a full disk does not silence it at once.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "base/time.h"
#include "live/system/files.h"
#include "live/system/system.h"

namespace trainyard {

struct AuditEntry {
  Time at;
  std::string user;
  uid_t uid = 0;
  std::string via;             // "socket", "token ci", "command"
  std::string from{};          // the address, over TCP
  std::string act{};           // "submit", "cancel", "token add", ...
  std::string object{};        // "job 7", "machine r0m0"
  std::string outcome{};       // "asked" before it is done, then "done" or "refused"
  std::string why{};           // it was refused
  std::uint64_t of = 0;        // the number of the line in which it was asked for; 0: none
  std::uint64_t left_out = 0;  // refusals before this line that were not written down
};

class AuditLog {
 public:
  /// `system` must outlive it. A file that has grown to `file_bytes` is renamed.
  AuditLog(System& system, const std::string& state_directory, off_t file_bytes = off_t{16} << 20);

  /// Appends a line, which is on disk when this returns, and returns its number. When it fails the
  /// file is as it was.
  Expected<std::uint64_t> append(const AuditEntry& entry);

 private:
  /// What the chain goes on from.
  struct End {
    std::uint64_t number = 0;
    std::string hash;
    bool is_torn = false;  // the last line has no end, as after a power failure
  };
  Expected<void> open_locked();
  Expected<End> find_end() const;
  Expected<void> rotate();
  Expected<void> write(const std::string& line, off_t size);
  void reserve(off_t size);
  Expected<void> sync(std::uint64_t number);

  System& system_;
  std::string folder_, path_;
  off_t file_bytes_;
  std::mutex mutex_;
  Descriptor file_;
  off_t known_size_ = -1;  // of the file when `end_` was true
  off_t reserved_ = 0;     // up to where there is space
  End end_;
  std::mutex sync_mutex_;
  std::uint64_t synced_ = 0;  // the number of the last line that is on disk
};

/// A line that was read.
struct AuditLine {
  std::uint64_t number = 0;
  AuditEntry entry;
};

/// What verifying found.
struct AuditVerdict {
  std::uint64_t lines = 0, first = 0, last = 0;
  std::size_t files = 0;
  std::string last_hash;
  std::vector<std::string> problems;  // at most ten
};

/// Reads all lines, oldest first, and checks the chain. Lines that cannot be read are among the
/// problems.
Expected<AuditVerdict> read_audit(const std::string& state_directory,
                                  const std::function<void(const AuditLine&)>& take);

}  // namespace trainyard
