#include "study/parallel.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

namespace trainyard {
namespace {

/// The failure of the least number, from any thread.
class FirstFailure {
 public:
  explicit FirstFailure(std::size_t count) : at_(count) {}

  [[nodiscard]] bool is_before(std::size_t i) const { return at_.load() < i; }

  void add(std::size_t i, Error error) {
    const std::lock_guard lock(mutex_);
    if (i >= at_.load()) return;
    at_ = i;
    error_ = std::move(error);
  }

  [[nodiscard]] const std::optional<Error>& error() const { return error_; }

 private:
  std::mutex mutex_;
  std::atomic<std::size_t> at_;
  std::optional<Error> error_;
};

}  // namespace

Expected<void> in_parallel(std::size_t count, int threads,
                           const std::function<Expected<void>(std::size_t)>& work) {
  if (threads < 0) return fail("{} threads; give 1 or more, or 0 for one a core", threads);
  const std::size_t cores = std::max(1U, std::thread::hardware_concurrency());
  const std::size_t wanted = threads == 0 ? cores : static_cast<std::size_t>(threads);
  std::atomic<std::size_t> next = 0;
  // A call is left out only when one before it failed, so the first failure is always found.
  FirstFailure failure(count);
  const auto work_on = [&] {
    for (std::size_t i = next++; i < count && !failure.is_before(i); i = next++)
      if (auto done = work(i); !done) failure.add(i, std::move(done.error()));
  };
  {
    std::vector<std::jthread> crew;
    for (std::size_t t = 0; t < std::min(wanted, count); ++t) crew.emplace_back(work_on);
  }
  if (failure.error()) return tl::make_unexpected(*failure.error());
  return {};
}

}  // namespace trainyard
