#include "live/server/rate_limit.h"

#include <algorithm>

namespace trainyard {

Duration RateLimit::take(const std::string& caller, Time now) {
  const std::lock_guard lock(mutex_);
  Bucket& bucket = refilled(caller, now);
  if (bucket.tokens >= 1) return bucket.tokens -= 1, Duration{};
  return microseconds(1 + static_cast<std::int64_t>((1 - bucket.tokens) / per_second_ * 1e6));
}

void RateLimit::charge(const std::string& caller, double tokens, Time now) {
  const std::lock_guard lock(mutex_);
  refilled(caller, now).tokens -= tokens;
}

RateLimit::Bucket& RateLimit::refilled(const std::string& caller, Time now) {
  if (buckets_.size() >= kMostCallers && !buckets_.contains(caller)) drop_full(now);
  Bucket& bucket = buckets_.try_emplace(caller, Bucket{burst_, now}).first->second;
  bucket.tokens = std::min(burst_, bucket.tokens + (now - bucket.at).seconds() * per_second_);
  bucket.at = now;
  return bucket;
}

/// Who has not asked for long is as good as new; when all have, all begin anew.
void RateLimit::drop_full(Time now) {
  std::erase_if(buckets_, [&](const auto& entry) {
    const Bucket& bucket = entry.second;
    return bucket.tokens + (now - bucket.at).seconds() * per_second_ >= burst_;
  });
  if (buckets_.size() >= kMostCallers) buckets_.clear();
}

}  // namespace trainyard
