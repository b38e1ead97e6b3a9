#include "live/system/user_files.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace trainyard {

Descriptor open_beneath(int at, const std::string& name, int flags) {
  open_how how{};
  how.flags = static_cast<std::uint64_t>(flags | O_NOFOLLOW | O_CLOEXEC);
  // The kernel takes no flag that O_PATH would ignore; such an open never waits.
  if ((flags & O_PATH) == 0) how.flags |= O_NONBLOCK | O_NOCTTY;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_XDEV | RESOLVE_NO_SYMLINKS;
  return Descriptor(static_cast<int>(::syscall(SYS_openat2, at, name.c_str(), &how, sizeof how)));
}

std::optional<std::string> UserFile::read() const {
  std::string text(static_cast<std::size_t>(version_.bytes), '\0');
  const ssize_t got = ::pread(file_.get(), text.data(), text.size(), 0);
  if (got < 0) return std::nullopt;
  text.resize(static_cast<std::size_t>(got));
  return text;
}

std::string UserDirectory::told_to_user(std::string_view name) const {
  return name.empty() ? parent_ + "/" + name_ : fmt::format("{}/{}/{}", parent_, name_, name);
}

Expected<void> UserDirectory::make(uid_t user, gid_t group) const {
  const std::string path = told_to_user();
  const bool is_new = ::mkdir(path.c_str(), 0700) == 0;
  if (!is_new && errno != EEXIST) return fail("{}: cannot be made: {}", path, std::strerror(errno));
  // Whatever the umask is. Nobody else can have entered it yet.
  if (is_new) ::chmod(path.c_str(), 0700);
  if (::geteuid() != 0) return {};
  const Descriptor parent(::open(parent_.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  const Descriptor made = open_beneath(parent.get(), name_, O_PATH | O_DIRECTORY);
  struct stat about {};
  if (!made && errno == EXDEV) return {};  // its user has mounted something there
  if (!made || ::fstat(made.get(), &about) != 0 ||
      (about.st_uid != user && ::fchownat(made.get(), "", user, group, AT_EMPTY_PATH) != 0))
    return fail("{}: cannot be given to user {}: {}", path, user, std::strerror(errno));
  return {};
}

bool UserDirectory::exists() const {
  const Descriptor parent(::open(parent_.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  return parent && (open_beneath(parent.get(), name_, O_PATH) || errno == EXDEV);
}

std::optional<UserDirectory::Owner> UserDirectory::owner() const {
  const Descriptor parent(::open(parent_.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!parent) return std::nullopt;
  const Descriptor directory = open_beneath(parent.get(), name_, O_PATH | O_DIRECTORY);
  struct stat about {};
  if (!directory || ::fstat(directory.get(), &about) != 0) return std::nullopt;
  return Owner{about.st_uid, about.st_gid};
}

std::optional<UserFile> UserDirectory::open(const std::string& name, uid_t owner,
                                            off_t limit) const {
  const Descriptor parent(::open(parent_.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!parent) return std::nullopt;
  Descriptor file = open_beneath(parent.get(), name_ + "/" + name, O_RDONLY);
  struct stat about {};
  if (!file || ::fstat(file.get(), &about) != 0) return std::nullopt;
  if (!S_ISREG(about.st_mode) || about.st_uid != owner || about.st_nlink > 1 ||
      about.st_size > limit)
    return std::nullopt;
  const auto& changed = about.st_mtim;
  return UserFile(std::move(file),
                  {.file = about.st_ino,
                   .bytes = about.st_size,
                   .changed_ns = changed.tv_sec * 1'000'000'000 + changed.tv_nsec});
}

bool UserDirectory::move_to(const std::string& path) const {
  return std::rename(told_to_user().c_str(), path.c_str()) == 0;
}

void UserDirectory::remove_if_empty() const {
  ::rmdir(told_to_user().c_str());
}

}  // namespace trainyard
