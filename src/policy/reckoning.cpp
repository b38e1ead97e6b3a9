#include "policy/reckoning.h"

#include <cmath>

#include <fmt/format.h>

#include "base/time.h"

namespace trainyard {

std::string PauseReckoning::text() const {
  const auto term = [](double s, const char* what) {
    if (std::abs(s) < 1) return std::string();
    return fmt::format(" {} {} {}", s < 0 ? '-' : '+', format(seconds(std::llround(std::abs(s)))),
                       what);
  };
  return fmt::format("pausing gains {}:{}{}{}{}{}{}", format(seconds(std::llround(gain_s))),
                     term(spared_s, "of waits spared"), term(worth_s, "for its worth"),
                     term(room_s, "by the place"), term(-suspended_s, "of the paused jobs' wait"),
                     term(-costs_s, "for saving and loading"),
                     term(-others_s, "for all others that wait"));
}

}  // namespace trainyard
