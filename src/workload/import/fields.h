// Values as they stand in trace files, turned into ours. The functions parse one value; InputFields
// adds where it stood and keeps the first error, so that an importer reads a row field by field and
// asks once, at the end, whether all was well.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/time.h"

namespace trainyard {

/// A trace to read: its text, how errors name it, and what a plain number of its times counts.
struct Source {
  std::string_view text;
  std::string_view origin;
  Duration unit = seconds(1);
};

/// No cluster we can describe has more GPUs (a million machines of 1024); no job may ask for more.
constexpr std::int64_t kMostGpus = 1'024'000'000;

/// "17"; also "17.0", as some tables write their counts.
Expected<std::int64_t> parse_whole(std::string_view text, std::int64_t low, std::int64_t high);
/// A finite number in [low, high].
Expected<double> parse_real(std::string_view text, double low, double high);
/// Plain seconds, exact to the microsecond ("3600", "0.25"), or whatever parse_duration reads.
Expected<Duration> parse_seconds(std::string_view text);
/// The same where plain numbers count another unit.
Expected<Duration> parse_in_unit(std::string_view text, Duration unit);
/// "2020-06-09 18:41:01" or with a T between; since the Unix epoch. Zones do not matter: only
/// differences within one trace are used.
Expected<Time> parse_date_time(std::string_view text);
/// Slurm's [D-]HH:MM:SS, with an optional fraction.
Expected<Duration> parse_slurm_duration(std::string_view text);

/// The words by which traces say that there is no value: "", None, Unknown, NaN, NaT, N/A, null.
bool is_missing(std::string_view text);

/// Reads plain seconds, at most 12 digits and 6 decimals, from the front of [at, stop): the form
/// that nearly all values have. Where they end, or null when it is another form. Inline and without
/// an Expected, for it runs twice for each of millions of jobs.
inline const char* take_plain_seconds(const char* at, const char* stop, Duration& result) {
  // What a fraction of so many digits counts.
  constexpr std::array<std::int64_t, 7> kUnit{1'000'000, 100'000, 10'000, 1'000, 100, 10, 1};
  const auto digits = [&](std::size_t most, std::int64_t& number) {
    const char* const begin = at;
    for (; at != stop && *at >= '0' && *at <= '9'; ++at) {
      if (at - begin == static_cast<std::ptrdiff_t>(most)) return std::size_t{0};
      number = number * 10 + (*at - '0');
    }
    return static_cast<std::size_t>(at - begin);
  };
  std::int64_t whole = 0, fraction = 0;
  std::size_t decimals = 0;
  if (digits(12, whole) == 0) return nullptr;
  if (at != stop && *at == '.') {
    ++at;
    decimals = digits(6, fraction);
    if (decimals == 0) return nullptr;
  }
  result = {whole * 1'000'000 + fraction * kUnit[decimals]};
  return result <= kLongestDuration ? at : nullptr;
}

/// The same for a whole text.
inline bool parse_plain_seconds(std::string_view text, Duration& result) {
  const char* const stop = text.data() + text.size();
  return take_plain_seconds(text.data(), stop, result) == stop && !text.empty();
}

class InputFields {
 public:
  explicit InputFields(const Source& source) : origin_(source.origin), unit_(source.unit) {}

  [[nodiscard]] Duration unit() const { return unit_; }
  void at_line(std::size_t line) { line_ = line; }
  [[nodiscard]] std::size_t line() const { return line_; }

  std::int64_t whole(std::string_view field, std::string_view text, std::int64_t low,
                     std::int64_t high) {
    return take(field, parse_whole(text, low, high));
  }
  double real(std::string_view field, std::string_view text, double low, double high) {
    return take(field, parse_real(text, low, high));
  }
  Duration seconds(std::string_view field, std::string_view text) {
    Duration result;
    if (unit_ == trainyard::seconds(1) && parse_plain_seconds(text, result)) return result;
    return take(field, parse_in_unit(text, unit_));
  }
  Time date_time(std::string_view field, std::string_view text) {
    return take(field, parse_date_time(text));
  }

  /// The value, or a zero one and the first error kept with file, line and field before it.
  template <class T>
  T take(std::string_view field, const Expected<T>& value) {
    if (value) return *value;
    complain(field, value.error().message);
    return T{};
  }
  /// end - start, which must not be negative.
  Duration between(std::string_view end_field, Time start, Time end);

  void complain(std::string_view field, std::string_view what);
  /// About the row as a whole.
  void complain(std::string_view what);

  [[nodiscard]] bool failed() const { return error_.has_value(); }
  [[nodiscard]] const std::optional<Error>& error() const { return error_; }

 private:
  std::string origin_;
  Duration unit_;
  std::size_t line_ = 0;
  std::optional<Error> error_;
};

}  // namespace trainyard
