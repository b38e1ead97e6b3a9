// How much each caller may ask for: a bucket of tokens that refills steadily, one token a request.
// A request that turns out to be as much work as many is charged for these afterwards, and its
// caller then waits until the debt is paid. Safe to call from any thread.
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
  /// Takes more tokens for a request that was served, as many as they are: the bucket may be in
  /// debt then.
  void charge(const std::string& caller, double tokens, Time now);

 private:
  static constexpr std::size_t kMostCallers = 4096;
  struct Bucket {
    double tokens = 0;
    Time at;
  };
  Bucket& refilled(const std::string& caller, Time now);
  void drop_full(Time now);

  double burst_, per_second_;
  std::mutex mutex_;
  std::unordered_map<std::string, Bucket> buckets_;
};

}  // namespace trainyard
