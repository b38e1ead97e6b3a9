// Files of users, in directories that we make for them: job/ of a run, and a job's checkpoints. A
// user may put anything there (a FIFO that never answers, a link to a file of root's, a terabyte,
// a mounted file system that hangs) and may swap it at any moment. So nothing is decided by a path
// and then done by the path again. Each file is opened once, never waits, and is judged by its
// descriptor:
//
//  - no link is followed, and no mount point is crossed: the kernel refuses both within the open
//    (openat2, Linux 5.6). All that is reached is on the disk of the state directory;
//  - the open does not wait, neither for a FIFO's other end nor for a lease to be given back;
//  - only a plain file of that user with one name, of a bounded size, is read, and no further.
//
// A UserDirectory converts to no path, so that open, std::ifstream and the like do not take it.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "live/system/files.h"

namespace trainyard {

/// Opens `name` below the directory `at` without following a link, crossing a mount point or
/// waiting. Returns no descriptor, and errno, where that cannot be.
Descriptor open_beneath(int at, const std::string& name, int flags);

/// A plain file of a user, held open.
class UserFile {
 public:
  /// Tells one state of a file from another.
  struct Version {
    ino_t file = 0;
    off_t bytes = 0;
    std::int64_t changed_ns = 0;
    bool operator==(const Version&) const = default;
  };

  [[nodiscard]] const Version& version() const { return version_; }
  [[nodiscard]] bool is_empty() const { return version_.bytes == 0; }
  /// Returns at most as many bytes as the file had when it was opened.
  [[nodiscard]] std::optional<std::string> read() const;

 private:
  friend class UserDirectory;
  UserFile(Descriptor file, const Version& version) : file_(std::move(file)), version_(version) {}

  Descriptor file_;
  Version version_;
};

class UserDirectory {
 public:
  /// `parent` is ours, so that no user can replace the directory itself.
  UserDirectory(std::string parent, std::string name)
      : parent_(std::move(parent)), name_(std::move(name)) {}

  /// Makes it for this user alone. One that exists stays, and is given to the user if it was not.
  [[nodiscard]] Expected<void> make(uid_t user, gid_t group) const;
  /// True if it is there, also where its user has mounted something on it.
  [[nodiscard]] bool exists() const;
  struct Owner {
    uid_t user = 0;
    gid_t group = 0;
  };
  /// None if it is not there, or is a mount point.
  [[nodiscard]] std::optional<Owner> owner() const;
  /// Opens the file of this name, if it is a plain file of this user of at most `limit` bytes.
  [[nodiscard]] std::optional<UserFile> open(const std::string& name, uid_t owner,
                                             off_t limit) const;
  /// Moves all of it to `path`, on the same disk. False if it is not there, or is a mount point.
  [[nodiscard]] bool move_to(const std::string& path) const;
  /// Removes it if it holds nothing and nothing is mounted there.
  void remove_if_empty() const;
  /// The name of a file within, as text for processes of the user. Not to be opened by us.
  [[nodiscard]] std::string told_to_user(std::string_view name = {}) const;

 private:
  std::string parent_, name_;
};

}  // namespace trainyard
