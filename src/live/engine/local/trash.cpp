#include "live/engine/local/trash.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <functional>
#include <memory>
#include <vector>

#include "live/system/files.h"

namespace trainyard {
namespace {

/// Calls with each name until told to stop (false).
void for_each_entry(int folder, const std::function<bool(const char*)>& use) {
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(::fdopendir(::dup(folder)), ::closedir);
  if (!entries) return;
  ::rewinddir(entries.get());
  while (const dirent* entry = ::readdir(entries.get())) {
    if (std::strcmp(entry->d_name, ".") == 0 || std::strcmp(entry->d_name, "..") == 0) continue;
    if (!use(entry->d_name)) return;
  }
}

/// A folder may forbid its own owner to look into it. It is the owner's to allow it again.
void allow_owner(int at, const char* name) {
  const Descriptor folder = open_beneath(at, name, O_PATH | O_DIRECTORY);
  if (folder) ::chmod(fmt::format("/proc/self/fd/{}", folder.get()).c_str(), 0700);
}

}  // namespace

Trash::Trash(const System& system, std::string directory) : directory_(std::move(directory)) {
  ::mkdir(directory_.c_str(), 0700);
  if (system.has_threads()) {
    thread_ = std::thread([this] { work(); });
  } else {
    has_work_ = false;
    empty();
  }
}

Trash::~Trash() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

std::string Trash::fresh_name() {
  // Earlier processes have left names of their own.
  return fmt::format("{}.{}", std::chrono::system_clock::now().time_since_epoch().count(),
                     ++names_);
}

void Trash::put(const std::string& path) {
  has_come(std::rename(path.c_str(), (directory_ + "/" + fresh_name()).c_str()) == 0);
}

void Trash::put(const UserDirectory& directory) {
  has_come(directory.move_to(directory_ + "/" + fresh_name()));
}

void Trash::has_come(bool was_moved) {
  if (!was_moved) return;
  if (!thread_.joinable()) return empty();
  {
    const std::lock_guard lock(mutex_);
    has_work_ = true;
  }
  changed_.notify_all();
}

void Trash::wait_until_empty() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return (!has_work_ && !busy_) || stopping_; });
}

bool Trash::is_stopping() {
  const std::lock_guard lock(mutex_);
  return stopping_;
}

/// Again as long as it leads anywhere: there may be what was moved up, or not seen.
void Trash::empty() {
  for (std::uint64_t before = removed_ - 1; removed_ != before && !is_stopping();) {
    before = removed_;
    empty_top();
  }
}

void Trash::work() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    if (!has_work_) {
      changed_.wait(lock);
      continue;
    }
    has_work_ = false;
    busy_ = true;
    lock.unlock();
    empty();
    lock.lock();
    busy_ = false;
    changed_.notify_all();
  }
}

bool Trash::remove(int folder, const char* name) {
  const bool removed =
      ::unlinkat(folder, name, 0) == 0 || ::unlinkat(folder, name, AT_REMOVEDIR) == 0;
  if (removed) ++removed_;
  return removed;
}

void Trash::empty_top() {
  const Descriptor top(::open(directory_.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!top) return;
  for_each_entry(top.get(), [&](const char* name) {
    if (!remove(top.get(), name)) empty_folder(top.get(), name);
    return !is_stopping();
  });
}

void Trash::empty_folder(int top, const char* name) {
  if (::geteuid() != 0) allow_owner(top, name);
  const Descriptor folder = open_beneath(top, name, O_RDONLY | O_DIRECTORY);
  if (!folder) return;
  for_each_entry(folder.get(), [&](const char* entry) {
    if (remove(folder.get(), entry)) return !is_stopping();
    if (::geteuid() != 0) allow_owner(folder.get(), entry);
    if (::renameat(folder.get(), entry, top, fresh_name().c_str()) == 0) ++removed_;
    return !is_stopping();
  });
  remove(top, name);
}

}  // namespace trainyard
