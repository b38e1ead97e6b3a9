// Threads for work that may last: one for each piece of work, used again when it is done. An event
// stream keeps its thread for hours, so a pool of a fixed size would be full of them.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>

namespace trainyard {

class ElasticThreads {
 public:
  ElasticThreads() = default;
  ElasticThreads(const ElasticThreads&) = delete;
  ElasticThreads& operator=(const ElasticThreads&) = delete;
  /// Waits for all work.
  ~ElasticThreads();

  /// False when the system gives no thread; `work` is not done then.
  [[nodiscard]] bool run(std::function<void()> work);

 private:
  void live();

  std::mutex mutex_;
  std::condition_variable more_, gone_;
  std::deque<std::function<void()>> work_;
  std::size_t idle_ = 0, alive_ = 0;
  bool stopping_ = false;
};

}  // namespace trainyard
