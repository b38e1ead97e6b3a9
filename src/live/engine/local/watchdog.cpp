#include "live/engine/local/watchdog.h"

#include <fmt/format.h>

#include <algorithm>

namespace trainyard {

std::optional<std::string> Watchdog::look(Time now, bool has_processes) {
  const Duration passed = std::min(now - last_look_.value_or(now), kLongestLook);
  last_look_ = now;
  empty_ = has_processes ? Duration{} : empty_ + passed;
  if (now >= due_) overdue_ += passed;
  if (is_ended_) {
    empty_since_ended_ = has_processes ? Duration{} : empty_since_ended_ + passed;
    return std::nullopt;
  }
  is_ended_ = empty_ >= patience_ || overdue_ >= patience_;
  if (!is_ended_) return std::nullopt;
  return empty_ >= patience_
             ? fmt::format(
                   "its processes were gone for {}, and its supervisor did not end: it was "
                   "ended",
                   format(patience_))
             : fmt::format("its supervisor did not stop it within {} of its time: it was ended",
                           format(patience_));
}

}  // namespace trainyard
