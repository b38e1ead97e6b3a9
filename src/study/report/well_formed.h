// For tests: whether markup is well-formed, as far as balanced elements, quoted attributes and
// known entities go.
#pragma once

#include <regex>
#include <string>
#include <vector>

namespace trainyard {

/// The tag with the values of its attributes taken out; as it is from where it has none. Regular
/// expressions recurse for each character, and a value may be as long as a figure has points.
inline std::string without_values(const std::string& tag) {
  std::string rest;
  std::size_t at = 0;
  for (;;) {
    const std::size_t begin = tag.find("=\"", at);
    const std::size_t end = begin == std::string::npos ? begin : tag.find('"', begin + 2);
    if (end == std::string::npos) return rest + tag.substr(at);
    const std::size_t inner = tag.find('<', begin);
    if (inner < end) return tag;
    rest += tag.substr(at, begin + 2 - at);
    at = end;
  }
}

/// What is wrong first; empty when nothing is.
inline std::string not_well_formed(const std::string& markup) {
  static const std::regex tag(R"re(<(/?)([a-zA-Z0-9]+)((?:\s+[a-zA-Z-]+="")*)\s*(/?)>)re");
  static const std::regex entity("&(?!(amp|lt|gt|quot|#39);)");
  if (std::regex_search(markup, entity)) return "a bare &";
  std::vector<std::string> open;
  std::size_t at = markup.starts_with("<!DOCTYPE html>") ? 15 : 0;
  while ((at = markup.find('<', at)) != std::string::npos) {
    const std::size_t end = markup.find('>', at);
    const std::string text = without_values(markup.substr(at, end - at + 1));
    std::smatch parts;
    if (!std::regex_match(text, parts, tag)) return "no tag: " + text;
    if (parts[1].length() > 0) {
      if (open.empty() || open.back() != parts[2]) return "not open: " + text;
      open.pop_back();
    } else if (parts[4].length() == 0) {
      open.push_back(parts[2]);
    }
    at = end;
  }
  return open.empty() ? "" : "not closed: " + open.back();
}

}  // namespace trainyard
