#include "live/loop/fair_slots.h"

namespace trainyard {

FairSlots::Turn FairSlots::enter(uid_t user) {
  std::unique_lock lock(mutex_);
  if (free_ > 0) {
    --free_;
    return Turn(*this);
  }
  ++waiting_[user];
  changed_.wait(lock, [&] { return called_.contains(user); });
  if (--called_[user] == 0) called_.erase(user);
  return Turn(*this);
}

std::size_t FairSlots::waiting() const {
  const std::lock_guard lock(mutex_);
  std::size_t sum = 0;
  for (const auto& [user, count] : waiting_) sum += count;
  return sum;
}

/// The slot goes to the next user after the one that was called last.
void FairSlots::leave() {
  const std::lock_guard lock(mutex_);
  if (waiting_.empty()) {
    ++free_;
    return;
  }
  auto next = waiting_.upper_bound(last_);
  if (next == waiting_.end()) next = waiting_.begin();
  last_ = next->first;
  ++called_[last_];
  if (--next->second == 0) waiting_.erase(next);
  changed_.notify_all();
}

}  // namespace trainyard
