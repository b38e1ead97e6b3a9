// Expected failures are values. A function that can fail on its input returns Expected<T>; its
// Error says what is wrong, where, what was found and what would be right, ready for a person.
// Exceptions are for what the process cannot go on from; assertions are never reachable from input.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>

namespace trainyard {

struct Error {
  std::string message;
};

template <class T>
using Expected = tl::expected<T, Error>;

/// `return fail("{}: no such file", path);`
template <class... Args>
tl::unexpected<Error> fail(fmt::format_string<Args...> format, Args&&... args) {
  return tl::make_unexpected(Error{fmt::format(format, std::forward<Args>(args)...)});
}

/// The same error with where it happened put in front: "jobs.csv:17: " + message.
inline tl::unexpected<Error> fail_at(std::string_view where, const Error& error) {
  return fail("{}: {}", where, error.message);
}

/// A value from input as it may be shown: quoted, control characters escaped, long ones shortened.
std::string quoted(std::string_view value);
// Nearer than std::quoted, which a std::string would mean wherever <iomanip> is seen.
inline std::string quoted(const std::string& value) {
  return quoted(std::string_view(value));
}
inline std::string quoted(const char* value) {
  return quoted(std::string_view(value));
}
inline std::string quoted(std::string& value) {
  return quoted(std::string_view(value));
}

/// ", did you mean 'x'?" for the closest of `known`, or "" when none is close.
template <class Range>
std::string did_you_mean(std::string_view word, const Range& known);

/// Edits (insert, delete or replace a character, swap two neighbours) that turn one word into the
/// other.
std::size_t edit_distance(std::string_view a, std::string_view b);

template <class Range>
std::string did_you_mean(std::string_view word, const Range& known) {
  std::size_t best = word.size() / 3 + 1;
  std::string_view closest;
  for (const auto& candidate : known) {
    const std::size_t distance = edit_distance(word, candidate);
    if (distance <= best && (closest.empty() || distance < best)) {
      best = distance;
      closest = candidate;
    }
  }
  return closest.empty() ? "" : fmt::format(", did you mean '{}'?", closest);
}

}  // namespace trainyard
