// Promises on their way from the thread that makes forecasts to the scheduler's, which writes them
// down with its next turn. Safe to call from any thread.
#pragma once

#include <mutex>
#include <utility>
#include <vector>

#include "live/book/job_record.h"

namespace trainyard {

class PromiseBox {
 public:
  using Promises = std::vector<std::pair<JobNumber, StartPromise>>;

  void put(Promises promises) {
    const std::lock_guard lock(mutex_);
    promises_.insert(promises_.end(), promises.begin(), promises.end());
  }
  [[nodiscard]] Promises take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(promises_, {});
  }

 private:
  std::mutex mutex_;
  Promises promises_;
};

}  // namespace trainyard
