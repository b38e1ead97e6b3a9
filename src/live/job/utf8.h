// Text from elsewhere: JSON, and so the journal, holds UTF-8 alone.
#pragma once

#include <string>

namespace trainyard {

/// Bytes that are not UTF-8 are replaced by U+FFFD.
std::string as_utf8(const std::string& text);
bool is_utf8(const std::string& text);

}  // namespace trainyard
