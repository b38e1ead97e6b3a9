// Time in CPU cycles: a few nanoseconds to read, for what is measured millions of times in a run.
#pragma once

#include <chrono>
#include <cstdint>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace trainyard {

class CycleClock {
 public:
  static std::uint64_t now() {
#if defined(__x86_64__)
    return __rdtsc();
#else
    return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
#endif
  }

  /// Measured once, against the steady clock over five milliseconds.
  static double ticks_per_us() {
    static const double rate = [] {
      using std::chrono::steady_clock;
      const auto begin = steady_clock::now();
      const std::uint64_t ticks = now();
      auto end = begin;
      while (end - begin < std::chrono::milliseconds(5)) end = steady_clock::now();
      const std::chrono::duration<double, std::micro> elapsed = end - begin;
      return static_cast<double>(now() - ticks) / elapsed.count();
    }();
    return rate;
  }
};

}  // namespace trainyard
