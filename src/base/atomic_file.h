// Files that are there whole or not at all: written under another name beside the final one, and
// renamed when everything is on disk.
#pragma once

#include <functional>
#include <iosfwd>
#include <string>

#include "base/error.h"

namespace trainyard {

/// `write` puts the contents into the stream; on any failure the file at `path` stays as it was.
Expected<void> write_file_atomically(const std::string& path,
                                     const std::function<void(std::ostream&)>& write);

}  // namespace trainyard
