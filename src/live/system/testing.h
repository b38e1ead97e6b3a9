// For the tests of live/: a directory that goes away, and a system whose clock and faults are the
// test's.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>

#include "live/system/kept_log.h"
#include "live/system/system.h"

namespace trainyard {

/// Whether a test may become another user: root may, unless the root folder itself is closed to all
/// others, as that of a machine in a private folder is. There they can run nothing.
inline bool can_be_others() {
  if (::geteuid() != 0) return false;
  const pid_t child = ::fork();
  if (child == 0) {
    const bool is_other = ::setgid(65534) == 0 && ::setuid(65534) == 0;
    ::_exit(is_other && ::access("/bin/sh", X_OK) == 0 ? 0 : 1);
  }
  int status = 0;
  return ::waitpid(child, &status, 0) == child && status == 0;
}
constexpr auto kCannotBeOthers = "only root can be another user, where others reach '/'";

class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    std::string pattern = (std::filesystem::temp_directory_path() / "trainyard-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no temporary directory");
    path_ = pattern;
  }
  ~TemporaryDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

/// True as soon as `holds` does; false when it does not within the time.
inline bool eventually(const std::function<bool()>& holds, Duration within = seconds(20)) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::microseconds(within.us);
  while (!holds()) {
    if (std::chrono::steady_clock::now() > until) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return true;
}

/// Time as it is, unless the test moves it; acts fail while the test says so.
class HandSystem : public RealSystem {
 public:
  [[nodiscard]] Time wall_clock() const override {
    const std::lock_guard lock(mutex_);
    return RealSystem::wall_clock() + wall_shift_;
  }
  [[nodiscard]] Time steady_clock() const override {
    const std::lock_guard lock(mutex_);
    return RealSystem::steady_clock() + steady_shift_;
  }
  [[nodiscard]] std::string boot() const override {
    const std::lock_guard lock(mutex_);
    return boot_;
  }
  /// Another start of the machine: its steady clock has another zero.
  void reboot() {
    const std::lock_guard lock(mutex_);
    boot_ += "+";
    steady_shift_ -= hours(24);
  }
  Expected<void> before(std::string_view act) override {
    const std::lock_guard lock(mutex_);
    const auto found = failing_.find(act);
    if (found != failing_.end()) return fail("{}", found->second);
    return {};
  }
  void after(std::string_view act) override {
    std::unique_lock lock(mutex_);
    if (act != held_) return;
    is_at_hold_ = true;
    changed_.notify_all();
    changed_.wait(lock, [&] { return held_.empty(); });
  }

  [[nodiscard]] KeptLog& log() override { return log_; }
  [[nodiscard]] Disk disk(const std::string& path) const override {
    const std::lock_guard lock(mutex_);
    return disk_.value_or(RealSystem::disk(path));
  }
  void set_disk(std::optional<Disk> disk) {
    const std::lock_guard lock(mutex_);
    disk_ = disk;
  }

  void set_wall_clock_by(Duration shift) {
    const std::lock_guard lock(mutex_);
    wall_shift_ += shift;
  }
  void pass(Duration time) {
    const std::lock_guard lock(mutex_);
    steady_shift_ += time;
  }
  void fail_at(const std::string& act, const std::string& why) {
    const std::lock_guard lock(mutex_);
    failing_[act] = why;
  }
  /// From now on nothing gets past this act, which takes as long as the test wants.
  void hold(const std::string& act) {
    const std::lock_guard lock(mutex_);
    held_ = act;
    is_at_hold_ = false;
  }
  void wait_for_hold() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return is_at_hold_; });
  }
  void go_on() {
    const std::lock_guard lock(mutex_);
    held_.clear();
    changed_.notify_all();
  }
  void heal() {
    const std::lock_guard lock(mutex_);
    failing_.clear();
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::string held_;
  bool is_at_hold_ = false;
  KeptLog log_;
  std::optional<Disk> disk_;
  Duration wall_shift_, steady_shift_;
  std::string boot_ = "boot";
  std::map<std::string, std::string, std::less<>> failing_;
};

}  // namespace trainyard
