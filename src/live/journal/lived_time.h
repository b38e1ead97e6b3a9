// Time that the daemon has lived through: the steady clock's while it runs, summed over its lives.
// Ages are counted in it, because no setting of the wall clock changes it and a daemon that was off
// ages nothing. The journal keeps the sum with every commit, so a crash may lose some of it and
// never adds any.
#pragma once

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>

#include "base/time.h"
#include "live/system/system.h"

namespace trainyard {

class LivedTime {
 public:
  /// A sum above this is an error of the file, not the age of a daemon.
  static constexpr Duration kMost = days(365 * 100);

  /// Returns nothing if the text is no count, or one that cannot be.
  static std::optional<Duration> parse(const std::string& text) {
    Duration sum;
    const char* end = text.data() + text.size();
    const auto [at, status] = std::from_chars(text.data(), end, sum.us);
    const bool is_count = status == std::errc{} && at == end && !text.empty();
    if (!is_count || sum < Duration{} || sum > kMost) return {};
    return sum;
  }

  /// Another life begins now.
  explicit LivedTime(const System& system) : system_(system), began_(system.steady_clock()) {}

  /// Takes the sum of all lives before.
  void set_before(Duration before) { before_ = std::clamp(before, Duration{}, kMost); }
  [[nodiscard]] Duration now() const {
    return before_ + std::max(system_.steady_clock() - began_, Duration{});
  }

 private:
  const System& system_;
  Time began_;
  Duration before_;
};

}  // namespace trainyard
