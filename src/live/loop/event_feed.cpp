#include "live/loop/event_feed.h"

#include <algorithm>
#include <chrono>

namespace trainyard {
namespace {

constexpr Duration kBetweenNotices = {50'000};
constexpr Duration kOneBurst = seconds(1);  // a line of the log waits so long for more of its kind
constexpr std::size_t kRecent = 10'000;

}  // namespace

void EventFeed::begin_after(std::int64_t sequence) {
  const std::lock_guard lock(mutex_);
  published_ = sequence;
}

void EventFeed::publish(std::vector<LiveEvent> events) {
  if (events.empty()) return;
  log_.add(events);
  const std::lock_guard lock(mutex_);
  for (LiveEvent& event : events) {
    published_ = event.sequence;
    recent_.push_back(std::move(event));
  }
  while (recent_.size() > kRecent) recent_.pop_front();
  notice_due_ = true;
}

Duration EventFeed::wake(Time now) {
  if (log_.is_waiting() && now - last_settled_ >= kOneBurst) {
    log_.settle();
    last_settled_ = now;
  }
  const std::lock_guard lock(mutex_);
  if (notice_due_ && now - last_notice_ >= kBetweenNotices) {
    notice_due_ = false;
    last_notice_ = now;
    come_.notify_all();
  }
  return notice_due_ ? kBetweenNotices : log_.is_waiting() ? kOneBurst : hours(1);
}

void EventFeed::end() {
  const std::lock_guard lock(mutex_);
  ended_ = true;
  come_.notify_all();
}

std::int64_t EventFeed::last() const {
  const std::lock_guard lock(mutex_);
  return published_;
}

Service::EventPage EventFeed::page(const Identity& who, std::int64_t after, Duration patience) {
  constexpr std::size_t kAtOnce = 64;
  const auto until = std::chrono::steady_clock::now() + std::chrono::microseconds(patience.us);
  std::vector<LiveEvent> found;
  const auto take = [&](const LiveEvent& event) {
    after = event.sequence;
    const bool is_others = who.role != Role::operator_ && event.job != 0 && event.user != who.user;
    const bool is_operators = who.role != Role::operator_ && event.job == 0;
    if (!is_others) found.push_back(is_operators ? without_actor(event) : event);
    if (is_others && !is_private_) found.push_back(public_part(event));
  };
  std::unique_lock lock(mutex_);
  while (found.empty() && !ended_) {
    if (published_ <= after) {
      if (come_.wait_until(lock, until) == std::cv_status::timeout) break;
      continue;
    }
    if (!recent_.empty() && recent_.front().sequence <= after + 1) {
      auto next = std::ranges::upper_bound(recent_, after, {}, &LiveEvent::sequence);
      for (; next != recent_.end() && found.size() < kAtOnce; ++next) take(*next);
      continue;
    }
    lock.unlock();
    const auto older = journal_.events(after, kAtOnce);
    lock.lock();
    if (!older) break;
    // None can be read up to those that are in memory: they are damaged.
    if (older->empty()) after = recent_.empty() ? published_ : recent_.front().sequence - 1;
    for (const LiveEvent& event : *older) take(event);
  }
  return {std::move(found), after};
}

}  // namespace trainyard
