// A job's --time as text, declared in job_spec.h.
#include <charconv>
#include <vector>

#include "live/job/job_spec.h"

namespace trainyard {
namespace {

constexpr std::int64_t kLargestPart = 1'000'000'000;  // minutes, hours, days ...

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/// "1:30:00" as its numbers; none when there is anything else in it.
std::vector<std::int64_t> numbers_of(std::string_view text) {
  std::vector<std::int64_t> numbers;
  for (;;) {
    const std::string_view part = text.substr(0, text.find(':'));
    std::int64_t value = 0;
    const char* last = part.data() + part.size();
    const auto [end, problem] = std::from_chars(part.data(), last, value);
    if (problem != std::errc{} || end != last || value < 0 || value > kLargestPart) return {};
    numbers.push_back(value);
    if (part.size() == text.size()) return numbers;
    text.remove_prefix(part.size() + 1);
  }
}

}  // namespace

Expected<Duration> parse_time_limit(std::string_view text) {
  if (text == "UNLIMITED" || text == "INFINITE") return Duration{};
  if (!text.empty() && is_letter(text.back())) {
    auto duration = parse_duration(text);
    if (duration) return duration;
  }
  const std::size_t dash = text.find('-');
  const bool has_days = dash != std::string_view::npos;
  auto numbers = numbers_of(has_days ? text.substr(dash + 1) : text);
  const auto count_of_days = numbers_of(has_days ? text.substr(0, dash) : "0");
  if (numbers.empty() || numbers.size() > 3 || count_of_days.size() != 1)
    return fail(
        "{} is not a time; write minutes as a plain number, MM:SS, HH:MM:SS, D-HH, D-HH:MM, "
        "D-HH:MM:SS, or units as in 90s, 30m, 2h, 1d12h",
        trainyard::quoted(text));
  if (has_days || numbers.size() == 3) {
    numbers.resize(3);
    return days(1) * count_of_days[0] + hours(1) * numbers[0] + minutes(1) * numbers[1] +
           seconds(1) * numbers[2];
  }
  numbers.resize(2);
  return minutes(1) * numbers[0] + seconds(1) * numbers[1];
}

}  // namespace trainyard
