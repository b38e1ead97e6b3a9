#include "policy/params.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

namespace trainyard {
namespace {

Expected<Duration> read_duration(std::string_view text) {
  if (text == "never") return Duration::max();
  return parse_duration(text);
}

template <class T>
std::optional<T> read_number(std::string_view text) {
  T number{};
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (status != std::errc{} || end != text.data() + text.size() || !(number >= 0)) return {};
  return number;
}

constexpr std::size_t kMostDurations = 15;
constexpr std::int64_t kMostWhole = 1'000'000'000;

Expected<std::vector<Duration>> read_durations(std::string_view text) {
  std::vector<Duration> list;
  while (true) {
    const std::size_t cut = text.find('/');
    const auto item = parse_duration(text.substr(0, cut));
    if (!item) return tl::make_unexpected(item.error());
    if (!list.empty() && *item <= list.back())
      return fail("{} is out of order; the list must ascend", quoted(text.substr(0, cut)));
    list.push_back(*item);
    if (list.size() > kMostDurations) return fail("more than {} values", kMostDurations);
    if (cut == std::string_view::npos) return list;
    text.remove_prefix(cut + 1);
  }
}

}  // namespace

Expected<void> check_param(const ParamSpec& spec, std::string_view value) {
  switch (spec.type) {
    case ParamType::duration:
      if (auto read = read_duration(value); !read) return tl::make_unexpected(read.error());
      return {};
    case ParamType::durations:
      if (auto read = read_durations(value); !read) return tl::make_unexpected(read.error());
      return {};
    case ParamType::whole:
      if (const auto number = read_number<std::int64_t>(value); !number || *number > kMostWhole)
        return fail("{} is not a whole number from 0 to {}", quoted(value), kMostWhole);
      return {};
    case ParamType::real:
      if (const auto number = read_number<double>(value); !number || !std::isfinite(*number))
        return fail("{} is not a number of 0 or more", quoted(value));
      return {};
    case ParamType::choice:
      if (std::find(spec.choices.begin(), spec.choices.end(), value) == spec.choices.end())
        return fail("{} is not one of: {}", quoted(value), fmt::join(spec.choices, ", "));
      return {};
  }
  return {};
}

Duration Params::duration(const std::string& name) const {
  return *read_duration(values_.at(name));
}

std::int64_t Params::whole(const std::string& name) const {
  return *read_number<std::int64_t>(values_.at(name));
}

double Params::real(const std::string& name) const {
  return *read_number<double>(values_.at(name));
}

std::vector<Duration> Params::durations(const std::string& name) const {
  return *read_durations(values_.at(name));
}

}  // namespace trainyard
