// Text for HTML and SVG.
#pragma once

#include <string>
#include <string_view>

namespace trainyard {

/// Safe within elements and quoted attributes: markup escaped, control characters left out, bytes
/// that are not UTF-8 replaced by U+FFFD.
std::string escaped(std::string_view text);

}  // namespace trainyard
