#include "workload/generate/settings.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cassert>
#include <charconv>
#include <set>

#include "base/split.h"

namespace trainyard {
namespace {

template <class Number>
std::optional<Number> parse_number(std::string_view text) {
  Number number{};
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (status != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::string_view cut(std::string_view& rest, char separator) {
  const std::size_t at = std::min(rest.find(separator), rest.size());
  const std::string_view part = rest.substr(0, at);
  rest.remove_prefix(std::min(at + 1, rest.size()));
  return part;
}

/// No value when it is not a mix, or asks for more GPUs than there are.
std::optional<DemandMix> parse_mix(std::string_view text, std::int32_t most_gpus) {
  DemandMix mix;
  double total = 0;
  while (!text.empty()) {
    std::string_view weight = cut(text, '/');
    const auto gpus = parse_number<std::int32_t>(cut(weight, ':'));
    const auto share = weight.empty() ? 1.0 : parse_number<double>(weight);
    if (!gpus || *gpus < 1 || *gpus > most_gpus) return std::nullopt;
    if (!share || !(*share >= 0) || *share > 1e9) return std::nullopt;
    mix.gpus.push_back(*gpus);
    mix.weights.push_back(*share);
    total += *share;
  }
  if (total <= 0) return std::nullopt;
  return mix;
}

}  // namespace

double DemandMix::mean_gpus() const {
  double sum = 0, total = 0;
  for (std::size_t i = 0; i < gpus.size(); ++i) sum += weights[i] * gpus[i], total += weights[i];
  return sum / total;
}

Expected<Settings> Settings::parse(std::string_view owner, std::string_view text,
                                   std::span<const Parameter> known) {
  Settings settings(owner);
  std::vector<std::string_view> names;
  for (const Parameter& parameter : known) {
    names.push_back(parameter.name);
    settings.values_.emplace(parameter.name, parameter.initial);
  }
  std::set<std::string_view> given;
  while (!text.empty()) {
    const std::string_view pair = cut(text, ',');
    std::string_view value = pair;
    const std::string_view key = cut(value, '=');
    if (key.size() == pair.size())
      return fail("{}: {} has no value; write key=value, separated by commas", owner, quoted(pair));
    const auto found = settings.values_.find(key);
    if (found == settings.values_.end())
      return fail("{}: unknown parameter {}{} (known: {})", owner, quoted(key),
                  did_you_mean(key, names), fmt::join(names, ", "));
    if (!given.insert(key).second) return fail("{}: {} is given twice", owner, key);
    found->second = value;
  }
  return settings;
}

const std::string& Settings::text(std::string_view key) const {
  const auto found = values_.find(key);
  assert(found != values_.end() && "a generator reads only parameters of its table");
  return found->second;
}

void Settings::complain(std::string_view key, std::string_view wanted) {
  if (!error_)
    error_ = Error{fmt::format("{}: {}={}; it must be {}", owner_, key, quoted(text(key)), wanted)};
}

std::int64_t Settings::whole(std::string_view key, std::int64_t low, std::int64_t high) {
  const auto number = parse_number<std::int64_t>(text(key));
  if (number && *number >= low && *number <= high) return *number;
  complain(key, fmt::format("a whole number from {} to {}", low, high));
  return low;
}

double Settings::real(std::string_view key, double low, double high) {
  const auto number = parse_number<double>(text(key));
  if (number && *number >= low && *number <= high) return *number;
  complain(key, fmt::format("a number from {} to {}", low, high));
  return low;
}

Duration Settings::duration(std::string_view key) {
  const auto parsed = parse_duration(text(key));
  if (parsed) return *parsed;
  complain(key, "a duration as in 90, 1.5h, 2d12h, 250ms");
  return {};
}

Duration Settings::positive_duration(std::string_view key) {
  const Duration parsed = duration(key);
  if (parsed.us <= 0) complain(key, "a duration longer than 0, as in 90, 1.5h, 2d12h, 250ms");
  return parsed;
}

DemandMix Settings::mix(std::string_view key, std::int32_t most_gpus) {
  if (auto mix = parse_mix(text(key), most_gpus)) return *std::move(mix);
  complain(key, fmt::format("a number of GPUs from 1 to {} (those of the cluster), or such numbers "
                            "with weights, as in 1:0.7/2:0.2/4:0.1",
                            most_gpus));
  return {{1}, {1.0}};
}

std::vector<std::string> Settings::words(std::string_view key) {
  constexpr std::size_t kMost = 100;
  const std::vector<std::string_view> words = split(text(key), "/");
  if (words.size() > kMost || std::ranges::find(words, std::string_view()) != words.end())
    complain(key, fmt::format("at most {} names with / between them, as in V100/P100", kMost));
  return {words.begin(), words.end()};
}

std::size_t Settings::choice(std::string_view key, std::span<const std::string_view> choices) {
  const std::string& word = text(key);
  for (std::size_t i = 0; i < choices.size(); ++i)
    if (choices[i] == word) return i;
  complain(key, fmt::format("one of {}", fmt::join(choices, ", ")));
  return 0;
}

Expected<void> Settings::finish() const {
  if (error_) return tl::make_unexpected(*error_);
  return {};
}

}  // namespace trainyard
