// Removes directories that may hold anything: a user's trees, with millions of files, of any depth,
// with links that point anywhere, changed while they are removed. What is thrown away is first
// moved aside, which takes no time, and removed by a thread of its own, if the system has threads;
// a restart goes on with the rest.
//
// No link is followed and no mount point is crossed: what a user has mounted within stays, and the
// directories above it stay for it. At most two directories are open whatever the depth: a
// directory within one that is being emptied is moved up to the top, to be emptied in its turn.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>

#include "live/system/system.h"
#include "live/system/user_files.h"

namespace trainyard {

class Trash {
 public:
  /// `directory` (made if missing) is on the same filesystem as what is thrown away, and nobody
  /// else's to write to.
  Trash(const System& system, std::string directory);
  /// What is not removed yet stays for the next time.
  ~Trash();
  Trash(const Trash&) = delete;
  Trash& operator=(const Trash&) = delete;

  /// Gone from its place when this returns; what does not exist is no concern.
  void put(const std::string& path);
  void put(const UserDirectory& directory);
  /// Waits until all is removed that can be.
  void wait_until_empty();

 private:
  void has_come(bool was_moved);
  void work();
  void empty();
  void empty_top();
  void empty_folder(int top, const char* name);
  bool remove(int folder, const char* name);
  [[nodiscard]] std::string fresh_name();
  [[nodiscard]] bool is_stopping();

  std::string directory_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool has_work_ = true, busy_ = false, stopping_ = false;
  std::atomic<std::uint64_t> names_ = 0;
  std::uint64_t removed_ = 0;  // entries, also those moved up; the thread's own
  std::thread thread_;
};

}  // namespace trainyard
