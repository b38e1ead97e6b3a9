#include "live/system/utc.h"

#include <array>
#include <ctime>

namespace trainyard {

std::string format_utc(Time t) {
  const std::time_t at = t.us / 1'000'000 - (t.us % 1'000'000 < 0 ? 1 : 0);
  std::tm parts{};
  std::array<char, 64> text{};
  if (::gmtime_r(&at, &parts) == nullptr) return "?";
  return {text.data(), std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts)};
}

}  // namespace trainyard
