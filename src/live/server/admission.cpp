#include "live/server/admission.h"

#include <algorithm>

namespace trainyard {

Admission::Verdict Admission::admit(const std::optional<Identity>& peer) {
  const bool is_operator = peer && peer->role == Role::operator_;
  const std::lock_guard lock(mutex_);
  const bool is_full = open_.size() >= limits_.connections - (is_operator ? 0 : limits_.reserved);
  Verdict verdict;
  if (!peer && !strangers_.empty() && (is_full || strangers_.size() >= limits_.strangers)) {
    verdict.gives_way = strangers_.front();
    strangers_.pop_front();
  } else if (is_full) {
    return {};
  }
  if (peer) {
    std::size_t& held = held_[peer->uid];
    if (!is_operator && held >= limits_.of_one_user) return {};
    ++held;
  }
  verdict.id = ++last_;
  open_[last_] = peer ? std::optional(peer->uid) : std::nullopt;
  if (!peer) strangers_.push_back(last_);
  return verdict;
}

void Admission::leave(Id id) {
  const std::lock_guard lock(mutex_);
  const auto found = open_.find(id);
  if (found == open_.end()) return;
  if (found->second) {
    const auto held = held_.find(*found->second);
    if (--held->second == 0) held_.erase(held);
  }
  open_.erase(found);
  recognised_.erase(id);
  std::erase(strangers_, id);
}

bool Admission::recognise(Id id, const Identity& bearer) {
  const std::lock_guard lock(mutex_);
  if (recognised_.contains(id)) return true;
  const auto own = std::ranges::count_if(
      recognised_, [&](const auto& entry) { return entry.second == bearer.uid; });
  const bool has_room =
      recognised_.size() < limits_.of_tcp && static_cast<std::size_t>(own) < limits_.of_one_bearer;
  if (bearer.role != Role::operator_ && !has_room) return false;
  // One that was told to give way meanwhile is ended all the same.
  std::erase(strangers_, id);
  recognised_.emplace(id, bearer.uid);
  return true;
}

std::size_t Admission::open() const {
  const std::lock_guard lock(mutex_);
  return open_.size();
}

}  // namespace trainyard
