// SHA-256 as text.
#pragma once

#include <string>
#include <string_view>

namespace trainyard {

/// 64 hexadecimal digits.
std::string sha256(std::string_view text);

}  // namespace trainyard
