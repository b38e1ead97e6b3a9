#include "live/server/memory_budget.h"

namespace trainyard {

bool MemoryBudget::has_room(const Caller& caller, std::size_t more) const {
  const auto found = by_caller_.find(caller.name);
  const std::size_t own = found == by_caller_.end() ? 0 : found->second;
  return used_ + more <= all_ && (caller.is_operator || own + more <= of_one_);
}

std::shared_ptr<MemoryBudget::Part> MemoryBudget::take(const Caller& caller, std::size_t bytes,
                                                       std::chrono::milliseconds patience) {
  std::shared_ptr<Part> part(new Part(*this, caller));
  std::unique_lock lock(mutex_);
  if (!given_back_.wait_for(lock, patience, [&] { return has_room(caller, bytes); })) {
    lock.unlock();  // for the part that goes
    return nullptr;
  }
  used_ += bytes;
  by_caller_[caller.name] += bytes;
  part->bytes_ = bytes;
  return part;
}

bool MemoryBudget::Part::resize(std::size_t bytes) {
  const std::lock_guard lock(budget_.mutex_);
  if (bytes > bytes_ && !budget_.has_room(caller_, bytes - bytes_)) return false;
  const auto own = budget_.by_caller_.try_emplace(caller_.name).first;
  own->second += bytes - bytes_;  // both wrap the same way when it gets smaller
  budget_.used_ += bytes - bytes_;
  if (own->second == 0) budget_.by_caller_.erase(own);
  bytes_ = bytes;
  budget_.given_back_.notify_all();
  return true;
}

std::size_t MemoryBudget::used() const {
  const std::lock_guard lock(mutex_);
  return used_;
}

}  // namespace trainyard
