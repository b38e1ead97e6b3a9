#include "workload/import/fields.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cmath>

namespace trainyard {
namespace {

/// Reads exactly `digits` digits at the front of `text`, and the separator after them unless it is
/// the last part.
bool take_part(std::string_view& text, std::size_t digits, std::string_view separators, int& part) {
  if (text.size() < digits) return false;
  const char* const stop = text.data() + digits;
  if (text.front() < '0' || text.front() > '9') return false;
  const auto [end, status] = std::from_chars(text.data(), stop, part);
  if (status != std::errc{} || end != stop) return false;
  text.remove_prefix(digits);
  if (separators.empty()) return text.empty();
  if (text.empty() || separators.find(text.front()) == std::string_view::npos) return false;
  text.remove_prefix(1);
  return true;
}

tl::unexpected<Error> not_slurm_duration(std::string_view text) {
  return fail("value {} is not a time as Slurm prints it, [days-]hours:minutes:seconds",
              quoted(text));
}

}  // namespace

Expected<std::int64_t> parse_whole(std::string_view text, std::int64_t low, std::int64_t high) {
  std::int64_t number = 0;
  const char* const stop = text.data() + text.size();
  const auto [end, status] = std::from_chars(text.data(), stop, number);
  const std::string_view rest(end, static_cast<std::size_t>(stop - end));
  const bool only_zeros = rest.size() > 1 && rest.front() == '.' &&
                          rest.find_first_not_of('0', 1) == std::string_view::npos;
  if (status == std::errc{} && (rest.empty() || only_zeros) && number >= low && number <= high)
    return number;
  return fail("value {} is not a whole number from {} to {}", quoted(text), low, high);
}

Expected<double> parse_real(std::string_view text, double low, double high) {
  double number = 0;
  const char* const stop = text.data() + text.size();
  const auto [end, status] = std::from_chars(text.data(), stop, number);
  if (status == std::errc{} && end == stop && number >= low && number <= high) return number;
  return fail("value {} is not a number from {} to {}", quoted(text), low, high);
}

Expected<Duration> parse_seconds(std::string_view text) {
  Duration plain;
  if (parse_plain_seconds(text, plain)) return plain;
  const auto parsed = parse_duration(text);
  if (parsed) return parsed;
  return fail("value {}", parsed.error().message);
}

Expected<Duration> parse_in_unit(std::string_view text, Duration unit) {
  double number = 0;
  const char* const stop = text.data() + text.size();
  const auto [end, status] = std::from_chars(text.data(), stop, number);
  const bool is_plain = status == std::errc{} && end == stop && number >= 0;
  if (!is_plain || (unit == seconds(1) && number <= kLongestDuration.seconds()))
    return parse_seconds(text);
  const double us = number * static_cast<double>(unit.us);
  if (us <= static_cast<double>(kLongestDuration.us)) return Duration{std::llround(us)};
  return fail(
      "value {} is more than 10,000 years; does it count milliseconds or microseconds? "
      "--time-unit says so, as in --time-unit ms",
      quoted(text));
}

Expected<Time> parse_date_time(std::string_view text) {
  using namespace std::chrono;
  int year_part = 0, month_part = 0, day_part = 0, hour = 0, minute = 0, second = 0;
  std::string_view rest = text;
  const bool shaped = take_part(rest, 4, "-", year_part) && take_part(rest, 2, "-", month_part) &&
                      take_part(rest, 2, " T", day_part) && take_part(rest, 2, ":", hour) &&
                      take_part(rest, 2, ":", minute) && take_part(rest, 2, "", second);
  const year_month_day date{year{year_part}, month{static_cast<unsigned>(month_part)},
                            day{static_cast<unsigned>(day_part)}};
  if (!shaped || !date.ok() || year_part < 1970 || hour > 23 || minute > 59 || second > 60)
    return fail("value {} is not a date and time as in 2020-06-09 18:41:01", quoted(text));
  const std::int64_t midnight = sys_days{date}.time_since_epoch().count();
  return Time{} + days(midnight) + hours(hour) + minutes(minute) + seconds(second);
}

Expected<Duration> parse_slurm_duration(std::string_view text) {
  std::int64_t day_count = 0;
  std::string_view clock = text;
  if (const std::size_t dash = text.find('-'); dash != std::string_view::npos) {
    const auto parsed = parse_whole(text.substr(0, dash), 0, 3'000'000);
    if (!parsed) return not_slurm_duration(text);
    day_count = *parsed;
    clock.remove_prefix(dash + 1);
  }
  int hour = 0, minute = 0;
  Duration second;
  if (!take_part(clock, 2, ":", hour) || !take_part(clock, 2, ":", minute) ||
      !parse_plain_seconds(clock, second) || minute > 59 || second >= minutes(1))
    return not_slurm_duration(text);
  return days(day_count) + hours(hour) + minutes(minute) + second;
}

bool is_missing(std::string_view text) {
  constexpr std::array<std::string_view, 8> kWords{"",    "None", "Unknown", "NaN",
                                                   "nan", "NaT",  "N/A",     "null"};
  return std::find(kWords.begin(), kWords.end(), text) != kWords.end();
}

Duration InputFields::between(std::string_view end_field, Time start, Time end) {
  if (end >= start) return end - start;
  if (!failed())
    complain(end_field,
             fmt::format("lies {} before the start; an end comes after it", format(start - end)));
  return {};
}

void InputFields::complain(std::string_view field, std::string_view what) {
  if (!error_) complain(fmt::format("field '{}': {}", field, what));
}

void InputFields::complain(std::string_view what) {
  if (!error_) error_ = Error{fmt::format("{}:{}: {}", origin_, line_, what)};
}

}  // namespace trainyard
