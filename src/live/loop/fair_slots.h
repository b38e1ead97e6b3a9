// A few slots for work that takes the processor for long (reads of the whole history), so that
// there is always one left for the scheduler. Callers that wait take turns by user: one that comes
// with many threads is served as often as one that comes with a single thread. Safe to call from
// any thread.
#pragma once

#include <sys/types.h>

#include <condition_variable>
#include <cstddef>
#include <map>
#include <mutex>

namespace trainyard {

class FairSlots {
 public:
  explicit FairSlots(std::size_t slots) : free_(slots) {}

  /// A slot, for as long as it lives.
  class Turn {
   public:
    explicit Turn(FairSlots& of) : of_(of) {}
    ~Turn() { of_.leave(); }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

   private:
    FairSlots& of_;
  };
  /// Waits until it is this user's turn.
  [[nodiscard]] Turn enter(uid_t user);
  /// How many callers wait.
  [[nodiscard]] std::size_t waiting() const;

 private:
  void leave();

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t free_;
  std::map<uid_t, std::size_t> waiting_;  // how many of each user
  std::map<uid_t, std::size_t> called_;   // of these, how many may go
  uid_t last_ = 0;                        // the user that was called last
};

}  // namespace trainyard
