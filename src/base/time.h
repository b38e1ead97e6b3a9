// Time in whole microseconds. Integers, so that a simulation repeats to the bit on any machine
// and two events at the same instant really compare equal. 2^63 us is 292,000 years; sums and
// products that pass it stay there, at Duration::max() and Time::never().
#pragma once

#include <compare>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include "base/error.h"

namespace trainyard {

struct Duration {
  std::int64_t us = 0;

  auto operator<=>(const Duration&) const = default;
  constexpr Duration& operator+=(Duration d);
  constexpr Duration& operator-=(Duration d) { return us -= d.us, *this; }
  [[nodiscard]] constexpr double seconds() const { return static_cast<double>(us) / 1e6; }
  static constexpr Duration max() { return {std::numeric_limits<std::int64_t>::max()}; }
};

constexpr Duration operator+(Duration a, Duration b) {
  Duration sum;
  return __builtin_add_overflow(a.us, b.us, &sum.us) ? Duration::max() : sum;
}
constexpr Duration operator-(Duration a, Duration b) {
  return {a.us - b.us};
}
constexpr Duration operator*(Duration a, std::int64_t n) {
  Duration product;
  return __builtin_mul_overflow(a.us, n, &product.us) ? Duration::max() : product;
}
constexpr Duration& Duration::operator+=(Duration d) {
  return *this = *this + d;
}
constexpr std::int64_t operator/(Duration a, Duration b) {
  return a.us / b.us;
}
constexpr Duration operator%(Duration a, Duration b) {
  return {a.us % b.us};
}

/// An instant. Zero is the start of the trace, or the Unix epoch when live.
struct Time {
  std::int64_t us = 0;

  auto operator<=>(const Time&) const = default;
  [[nodiscard]] constexpr double seconds() const { return static_cast<double>(us) / 1e6; }
  /// Later than any instant that can occur.
  static constexpr Time never() { return {std::numeric_limits<std::int64_t>::max()}; }
};

constexpr Time operator+(Time t, Duration d) {
  Time sum;
  return __builtin_add_overflow(t.us, d.us, &sum.us) ? Time::never() : sum;
}
constexpr Time operator-(Time t, Duration d) {
  return {t.us - d.us};
}
constexpr Duration operator-(Time a, Time b) {
  return {a.us - b.us};
}

constexpr Duration microseconds(std::int64_t n) {
  return {n};
}
constexpr Duration seconds(std::int64_t n) {
  return {n * 1'000'000};
}
constexpr Duration minutes(std::int64_t n) {
  return seconds(60 * n);
}
constexpr Duration hours(std::int64_t n) {
  return minutes(60 * n);
}
constexpr Duration days(std::int64_t n) {
  return hours(24 * n);
}

/// The longest duration any input may name: 10,000 years. Sums of a few stay far from overflow.
constexpr Duration kLongestDuration = days(3'650'000);

/// Rounds to the nearest microsecond; an error when it is not finite, negative or too long.
Expected<Duration> duration_from_seconds(double s);

/// "90" (seconds), "1.5h", "2d12h", "250ms", "1h30m", "0".
Expected<Duration> parse_duration(std::string_view text);

/// Two units at most, for people: "2d 4h", "1m 30s", "250ms", "0s".
std::string format(Duration d);
/// What parse_duration reads back exactly: "2d12h", "1m30s", "250000us" (fractions of a second up
/// to 285 years, whole seconds to any length).
std::string format_exact(Duration d);

}  // namespace trainyard
