#include "live/server/query.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>

namespace trainyard {
namespace {

Expected<std::vector<Phase>> parse_states(std::string_view text) {
  std::vector<Phase> states;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(','), text.size());
    const std::string_view word = text.substr(0, end);
    const auto state = parse_state(word);
    if (!state) {
      std::array<std::string_view, kJobStates.size()> known;
      std::ranges::transform(kJobStates, known.begin(), state_name);
      return fail("state: {} is not one{}", trainyard::quoted(word), did_you_mean(word, known));
    }
    if (std::ranges::find(states, *state) == states.end()) states.push_back(*state);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return states;
}

}  // namespace

Expected<std::int64_t> parse_digits(std::string_view text, std::int64_t low, std::int64_t high) {
  std::int64_t value = 0;
  const char* last = text.data() + text.size();
  const auto [end, problem] = std::from_chars(text.data(), last, value);
  if (problem != std::errc{} || end != last || value < low || value > high || text[0] == '-')
    return fail("{} is not a whole number from {} to {}", trainyard::quoted(text), low, high);
  return value;
}

Expected<std::int64_t> whole_parameter(const Query& query, const std::string& name,
                                       std::int64_t low, std::int64_t high,
                                       std::int64_t otherwise) {
  const auto found = query.find(name);
  if (found == query.end()) return otherwise;
  auto value = parse_digits(found->second, low, high);
  if (!value) return fail_at(name, value.error());
  return value;
}

Expected<bool> switch_parameter(const Query& query, const std::string& name) {
  const auto found = query.find(name);
  if (found == query.end()) return false;
  const std::string& text = found->second;
  if (text.empty() || text == "true" || text == "1") return true;
  if (text == "false" || text == "0") return false;
  return fail("{}: {} is neither true nor false", name, trainyard::quoted(text));
}

Expected<JobFilter> job_filter(const Query& query) {
  JobFilter filter;
  const auto before = whole_parameter(query, "before", 0, std::numeric_limits<JobNumber>::max(), 0);
  const auto limit = whole_parameter(query, "limit", 1, 1000, 100);
  const auto array = whole_parameter(query, "array", 1, std::numeric_limits<JobNumber>::max(), 0);
  for (const auto* number : {&before, &limit, &array})
    if (!*number) return tl::make_unexpected(number->error());
  const auto fold = switch_parameter(query, "fold");
  if (!fold) return tl::make_unexpected(fold.error());
  filter.fold = *fold;
  if (*array > 0) filter.array = *array;
  filter.before = *before;
  filter.limit = static_cast<std::size_t>(*limit);
  for (const auto& [name, value] : query) {
    if (name == "user") filter.user = value;
    if (name == "name") filter.name = value;
    if (name == "state") {
      auto states = parse_states(value);
      if (!states) return tl::make_unexpected(states.error());
      filter.states = *std::move(states);
    }
    if (name != "class") continue;
    if (value != "trial" && value != "batch")
      return fail("class: {} is neither trial nor batch", trainyard::quoted(value));
    filter.job_class = value == "trial" ? JobClass::trial : JobClass::batch;
  }
  return filter;
}

}  // namespace trainyard
