// What a policy has learnt, as lists of numbers by name, so that it outlives the policy: another
// one takes from it what it knows by name. A list that does not look as it should is left out, as
// it may come from another version or a damaged file.
#pragma once

#include <charconv>
#include <cmath>
#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace trainyard {

using Learnt = std::map<std::string, std::vector<double>, std::less<>>;

/// Visits what is kept under names that begin so, with what follows in the name: visit(rest, list).
/// All numbers of a list are finite and none is negative.
template <class Visit>
void each_learnt(const Learnt& learnt, std::string_view begin, Visit visit) {
  for (auto kept = learnt.lower_bound(begin);
       kept != learnt.end() && kept->first.starts_with(begin); ++kept) {
    bool is_sound = true;
    for (const double number : kept->second)
      is_sound = is_sound && std::isfinite(number) && number >= 0;
    if (is_sound)
      visit(std::string_view(kept->first).substr(begin.size()),
            std::span<const double>(kept->second));
  }
}

/// Splits "12/rest". False: it does not begin with a whole number and a slash.
inline bool split_number(std::string_view text, int& number, std::string_view& rest) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end == text.data() + text.size() || *end != '/') return false;
  rest = text.substr(static_cast<std::size_t>(end - text.data()) + 1);
  return true;
}

}  // namespace trainyard
