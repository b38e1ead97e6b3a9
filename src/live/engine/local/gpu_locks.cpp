#include "live/engine/local/gpu_locks.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <memory>
#include <sstream>
#include <tuple>

namespace trainyard {
namespace {

constexpr const char* kFolders[] = {"trainyard", "gpus"};

/// Empty if only root can change what is in it.
std::string why_not_roots(int directory) {
  struct stat about {};
  if (::fstat(directory, &about) != 0) return std::strerror(errno);
  if (about.st_uid != 0) return fmt::format("it belongs to user {}, not to root", about.st_uid);
  if ((about.st_mode & 022) != 0)
    return fmt::format("its mode {:04o} lets others write", about.st_mode & 07777);
  return {};
}

/// RUN/trainyard/gpus, where each folder is root's and none is a link.
Expected<Descriptor> open_directory(const std::string& run, bool makes) {
  std::string path = run;
  Descriptor at(::open(run.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  for (const char* folder : kFolders) {
    if (!at) break;
    path += std::string("/") + folder;
    if (makes && ::mkdirat(at.get(), folder, 0755) == 0 &&
        ::fchmodat(at.get(), folder, 0755, 0) != 0)
      return fail("{}: cannot be made: {}", path, std::strerror(errno));
    at = Descriptor(::openat(at.get(), folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!at) break;
    if (const std::string why = why_not_roots(at.get()); !why.empty())
      return fail("{}: root's claims on GPUs are kept there, but {}: remove it", path, why);
  }
  if (!at) return fail("{}: root's claims on GPUs are kept there: {}", path, std::strerror(errno));
  return at;
}

std::set<std::string> files_in(int directory) {
  std::set<std::string> names;
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(
      ::fdopendir(::openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)), ::closedir);
  while (entries) {
    const dirent* entry = ::readdir(entries.get());
    if (entry == nullptr) break;
    if (entry->d_name[0] != '.') names.insert(entry->d_name);
  }
  return names;
}

struct flock whole_file() {
  struct flock all {};
  all.l_type = F_WRLCK;
  all.l_whence = SEEK_SET;
  return all;
}

/// The file system of an open file as /proc/locks names it, which stat() need not do: "fe:00".
std::string device_of(int file) {
  std::ifstream about(fmt::format("/proc/self/fdinfo/{}", file));
  std::string mount;
  for (std::string word; about >> word;)
    if (word == "mnt_id:") about >> mount;
  std::ifstream mounts("/proc/self/mountinfo");
  for (std::string line; std::getline(mounts, line);) {
    std::istringstream words(line);
    std::string id, parent;
    unsigned major_number = 0, minor_number = 0;
    char colon = 0;
    if (words >> id >> parent >> major_number >> colon >> minor_number && id == mount)
      return fmt::format("{:02x}:{:02x}", major_number, minor_number);
  }
  return {};
}

/// "fe:00:4711" for every lock that somebody holds, and not for those that somebody waits for.
Expected<std::set<std::string>> locks_of_kernel() {
  std::ifstream lines("/proc/locks");
  if (!lines) return fail("/proc/locks cannot be read: {}", std::strerror(errno));
  std::set<std::string> held;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string number, kind, advisory, mode, process, file;
    if (words >> number >> kind >> advisory >> mode >> process >> file && kind != "->")
      held.insert(file);
  }
  return held;
}

}  // namespace

Expected<GpuLocks> GpuLocks::open(const std::string& run) {
  auto directory = open_directory(run, true);
  if (!directory) return tl::make_unexpected(directory.error());
  GpuLocks locks;
  locks.directory_ = std::move(*directory);
  return locks;
}

Expected<Descriptor> GpuLocks::lock(const std::string& name, std::string_view holder) const {
  Descriptor file(
      ::openat(directory_.get(), name.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file || ::fchmod(file.get(), 0600) != 0)
    return fail("the claim {} cannot be made: {}", name, std::strerror(errno));
  struct flock all = whole_file();
  if (::fcntl(file.get(), F_OFD_SETLK, &all) == 0) {
    if (::ftruncate(file.get(), 0) == 0) std::ignore = write_all(file.get(), holder);
    return file;
  }
  if (errno == EAGAIN || errno == EACCES) return Descriptor();
  return fail("the claim {} cannot be locked: {}", name, std::strerror(errno));
}

std::string GpuLocks::holder(const std::string& name) const {
  const Descriptor file(
      ::openat(directory_.get(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  std::array<char, 4096> text{};
  const ssize_t got = file ? ::read(file.get(), text.data(), text.size()) : 0;
  return {text.data(), static_cast<std::size_t>(std::max<ssize_t>(got, 0))};
}

Expected<std::set<std::string>> GpuLocks::locked() const {
  std::set<std::string> held;
  for (const std::string& name : files_in(directory_.get())) {
    const Descriptor file(
        ::openat(directory_.get(), name.c_str(), O_RDWR | O_NOFOLLOW | O_CLOEXEC));
    struct flock all = whole_file();
    if (!file || ::fcntl(file.get(), F_OFD_GETLK, &all) != 0)
      return fail("the claim {} cannot be looked at: {}", name, std::strerror(errno));
    if (all.l_type != F_UNLCK) held.insert(name);
  }
  return held;
}

Expected<std::set<std::string>> gpu_locks_of_root(const std::string& run) {
  const auto directory = open_directory(run, false);
  if (!directory) return std::set<std::string>();
  const auto locks = locks_of_kernel();
  if (!locks) return tl::make_unexpected(locks.error());
  std::set<std::string> held;
  for (const std::string& name : files_in(directory->get())) {
    const Descriptor file(
        ::openat(directory->get(), name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
    struct stat about {};
    if (!file || ::fstat(file.get(), &about) != 0) continue;
    if (locks->contains(fmt::format("{}:{}", device_of(file.get()), about.st_ino)))
      held.insert(name);
  }
  return held;
}

}  // namespace trainyard
