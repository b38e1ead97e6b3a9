#include "base/time.h"

#include <array>
#include <charconv>
#include <cmath>

namespace trainyard {
namespace {

struct Unit {
  std::string_view name;
  std::int64_t us;
};

constexpr std::array kUnits{Unit{"w", 7 * 86'400'000'000},
                            Unit{"d", 86'400'000'000},
                            Unit{"h", 3'600'000'000},
                            Unit{"m", 60'000'000},
                            Unit{"s", 1'000'000},
                            Unit{"ms", 1'000},
                            Unit{"us", 1}};

const Unit* find_unit(std::string_view name) {
  if (name.empty()) return &kUnits[4];
  for (const Unit& unit : kUnits)
    if (unit.name == name) return &unit;
  return nullptr;
}

tl::unexpected<Error> not_a_duration(std::string_view text) {
  return fail("{} is not a duration; write seconds or units, as in 90, 1.5h, 2d12h, 250ms",
              quoted(text));
}

}  // namespace

Expected<Duration> duration_from_seconds(double s) {
  if (!(s >= 0) || s > kLongestDuration.seconds())
    return fail("{} s is not a duration; it must lie between 0 and {} s", s,
                kLongestDuration.seconds());
  return Duration{std::llround(s * 1e6)};
}

Expected<Duration> parse_duration(std::string_view text) {
  double total_us = 0;
  std::string_view rest = text;
  if (rest.empty()) return not_a_duration(text);
  while (!rest.empty()) {
    double number = 0;
    const auto [end, status] = std::from_chars(rest.data(), rest.data() + rest.size(), number);
    if (status != std::errc{} || !std::isfinite(number)) return not_a_duration(text);
    rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
    const std::size_t letters =
        std::min(rest.find_first_not_of("abcdefghijklmnopqrstuvwxyz"), rest.size());
    const Unit* unit = find_unit(rest.substr(0, letters));
    if (unit == nullptr || (letters == 0 && !rest.empty())) return not_a_duration(text);
    rest.remove_prefix(letters);
    total_us += number * static_cast<double>(unit->us);
  }
  if (total_us < 0) return fail("{} is negative; a duration is 0 or more", quoted(text));
  if (total_us > static_cast<double>(kLongestDuration.us))
    return fail("{} is longer than 10,000 years", quoted(text));
  return Duration{std::llround(total_us)};
}

std::string format(Duration d) {
  if (d.us < 0) return fmt::format("-{}", format(Duration{-d.us}));
  if (d.us > 0 && d.us < 1'000) return fmt::format("{}us", d.us);
  if (d.us > 0 && d.us < 999'500) return fmt::format("{:.3g}ms", static_cast<double>(d.us) / 1e3);
  if (d < minutes(1)) return fmt::format("{:.3g}s", d.seconds());
  const std::int64_t s = (d.us + 500'000) / 1'000'000;
  const auto two = [](std::int64_t big, char a, std::int64_t small, char b) {
    return small == 0 ? fmt::format("{}{}", big, a) : fmt::format("{}{} {}{}", big, a, small, b);
  };
  if (s < 3600) return two(s / 60, 'm', s % 60, 's');
  if (s < 86'400) return two(s / 3600, 'h', s % 3600 / 60, 'm');
  return two(s / 86'400, 'd', s % 86'400 / 3600, 'h');
}

std::string format_exact(Duration d) {
  if (d.us % 1'000'000 != 0) return fmt::format("{}us", d.us);
  std::string text;
  std::int64_t rest = d.us;
  for (std::size_t i = 1; i <= 4; ++i) {
    if (rest / kUnits[i].us > 0) text += fmt::format("{}{}", rest / kUnits[i].us, kUnits[i].name);
    rest %= kUnits[i].us;
  }
  return text.empty() ? "0s" : text;
}

}  // namespace trainyard
