// What requests and answers may hold of the daemon's memory at once: all of them together, and
// those of each caller. A request takes its part before its body is read and before its answer is
// made, and has it until the answer is sent, so that what is not read is the caller's own loss.
//
// Safe to call from any thread.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <string>

namespace trainyard {

class MemoryBudget {
 public:
  struct Caller {
    std::string name;
    bool is_operator = false;  // bound by what there is, not by what one caller may have
  };
  MemoryBudget(std::size_t all, std::size_t of_one) : all_(all), of_one_(of_one) {}
  MemoryBudget(const MemoryBudget&) = delete;
  MemoryBudget& operator=(const MemoryBudget&) = delete;

  /// A part of it, given back when it goes. Must not outlive the budget.
  class Part {
   public:
    ~Part() { (void)resize(0); }
    Part(const Part&) = delete;
    Part& operator=(const Part&) = delete;
    /// False: there is no room for so much more, and it stays as it is.
    [[nodiscard]] bool resize(std::size_t bytes);

   private:
    friend class MemoryBudget;
    Part(MemoryBudget& budget, Caller caller) : budget_(budget), caller_(std::move(caller)) {}

    MemoryBudget& budget_;
    Caller caller_;
    std::size_t bytes_ = 0;
  };

  /// Waits until there is room for it; null when there is none in that time.
  [[nodiscard]] std::shared_ptr<Part> take(const Caller& caller, std::size_t bytes,
                                           std::chrono::milliseconds patience);
  [[nodiscard]] std::size_t used() const;

 private:
  [[nodiscard]] bool has_room(const Caller& caller, std::size_t more) const;

  const std::size_t all_, of_one_;
  mutable std::mutex mutex_;
  std::condition_variable given_back_;
  std::size_t used_ = 0;
  std::map<std::string, std::size_t> by_caller_;
};

}  // namespace trainyard
