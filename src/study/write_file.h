// Files that are whole or not there: written under another name, then renamed.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"

namespace trainyard {

/// Replaces the file; on an error it is as it was before.
Expected<void> write_file(const std::string& path, std::string_view text);

}  // namespace trainyard
