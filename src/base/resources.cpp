#include "base/resources.h"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace trainyard {
namespace {

/// Splits "1.5TiB" into 1.5 and "TiB"; false when it does not begin with a number >= 0.
bool split_number(std::string_view text, double& number, std::string_view& unit) {
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (status != std::errc{} || !std::isfinite(number) || number < 0) return false;
  unit = text.substr(static_cast<std::size_t>(end - text.data()));
  return true;
}

/// 0 when there is no such unit. "GB" is what Slurm, and most people, take it for: 1024 MiB.
double mib_of(std::string_view unit) {
  if (unit.empty()) return 1024;
  constexpr std::string_view kLetters = "KMGT", kSmall = "kmgt";
  const std::size_t power = std::min(kLetters.find(unit[0]), kSmall.find(unit[0]));
  const std::string_view rest = unit.substr(1);
  const bool is_byte = rest.empty() || rest == "iB" || rest == "B" || rest == "b" || rest == "ib";
  if (power == std::string_view::npos || !is_byte) return 0;
  return std::exp2(10.0 * (static_cast<double>(power) - 1));
}

}  // namespace

Expected<std::int32_t> parse_cpus(std::string_view text) {
  double number = 0;
  std::string_view unit;
  if (!split_number(text, number, unit) || !(unit.empty() || unit == "m"))
    return fail("{} is not a number of CPUs; write cores or thousandths, as in 4, 0.5, 500m",
                quoted(text));
  const double milli = unit.empty() ? number * 1000 : number;
  if (milli > 1e9) return fail("{} is more than a million CPUs", quoted(text));
  return static_cast<std::int32_t>(std::ceil(milli - 1e-6));
}

Expected<std::int32_t> parse_memory(std::string_view text) {
  double number = 0;
  std::string_view unit;
  if (!split_number(text, number, unit))
    return fail("{} is not an amount of memory; write it as 64GiB or 512MiB", quoted(text));
  const double mib_per_unit = mib_of(unit);
  if (mib_per_unit == 0)
    return fail("{} has the unknown unit {}; known are KiB, MiB, GiB and TiB", quoted(text),
                quoted(unit));
  const double mib = std::ceil(number * mib_per_unit - 1e-9);
  if (mib > 1e9) return fail("{} is more than 950 TiB", quoted(text));
  return static_cast<std::int32_t>(mib);
}

std::string format_memory(std::int64_t mib) {
  if (mib >= 1024 * 1024) return fmt::format("{:.4g}TiB", static_cast<double>(mib) / (1024 * 1024));
  if (mib >= 1024) return fmt::format("{:.4g}GiB", static_cast<double>(mib) / 1024);
  return fmt::format("{}MiB", mib);
}

}  // namespace trainyard
