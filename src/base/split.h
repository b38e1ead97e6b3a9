// Text in parts.
#pragma once

#include <string_view>
#include <vector>

namespace trainyard {

/// What stands between the separators, each of them a character; empty parts count.
inline std::vector<std::string_view> split(std::string_view text, std::string_view separators) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t end = text.find_first_of(separators);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

}  // namespace trainyard
