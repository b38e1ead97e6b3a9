// JSON from people who may mean harm. The parser itself does not recurse, but much that is done
// with a value afterwards does (printing it, comparing it): what is nested deeply is refused before
// a value is made of it. So is what has very many values: "{}," is three bytes of text and 80 of
// memory.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string_view>

#include "base/error.h"

namespace trainyard {

/// Lists and objects within each other, the outermost included, that are taken.
inline constexpr int kDeepestJson = 16;

/// Values in it, lists and objects included, that are taken: 8 MB of memory beside their texts.
inline constexpr std::size_t kMostJsonValues = 65'536;

/// Never throws for what the text is; an error names the byte (from 1) or the number that is wrong.
Expected<nlohmann::json> parse_bounded_json(std::string_view text);

}  // namespace trainyard
