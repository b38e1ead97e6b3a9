// What became of promises, by how far ahead they were: how many starts were within p10 to p90, and
// how far the median was off.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <vector>

#include "forecast/track_record.h"

namespace trainyard {

/// Promises of jobs that were expected (p50) to wait on for up to so long, and for longer than the
/// limit before.
struct PromiseLimit {
  const char* name;
  Duration wait;
};
inline constexpr std::array<PromiseLimit, 4> kPromiseLimits{
    {{"10m", minutes(10)}, {"1h", hours(1)}, {"3h", hours(3)}, {"1d", days(1)}}};

/// The first limit that the expected wait is within; none: beyond the last.
[[nodiscard]] std::optional<std::size_t> promise_limit(const TimeBand& band, Time made);
[[nodiscard]] inline bool is_within(const TimeBand& band, Time start) {
  return band.p10 <= start && start <= band.p90;
}
/// The middle of them, the later of two; 0 if there are none.
[[nodiscard]] double median_of(std::vector<double> values);

/// Of those within one limit.
class PromiseTally {
 public:
  void add(const TimeBand& told, Time start);

  [[nodiscard]] std::size_t promises() const { return errors_.size(); }
  [[nodiscard]] std::size_t held() const { return held_; }
  [[nodiscard]] double median_error_s() const { return median_of(errors_); }

 private:
  std::size_t held_ = 0;
  std::vector<double> errors_;
};
using PromiseTallies = std::array<PromiseTally, kPromiseLimits.size()>;

}  // namespace trainyard
