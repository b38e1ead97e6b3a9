// How many requests each caller may make: a bucket of tokens that refills steadily, one token a
// request. Safe to call from any thread.
#pragma once

#include <mutex>
#include <string>
#include <unordered_map>

#include "base/time.h"

namespace trainyard {

class RateLimit {
 public:
  RateLimit(double burst, double per_second) : burst_(burst), per_second_(per_second) {}

  /// 0 when the request may be served, or how long its caller should wait.
  Duration take(const std::string& caller, Time now);

 private:
  static constexpr std::size_t kMostCallers = 4096;
  struct Bucket {
    double tokens = 0;
    Time at;
  };
  void drop_full(Time now);

  double burst_, per_second_;
  std::mutex mutex_;
  std::unordered_map<std::string, Bucket> buckets_;
};

}  // namespace trainyard
