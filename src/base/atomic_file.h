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

/// Whether write_file_atomically would be able to begin, tried out without leaving anything behind:
/// for asking before hours of work rather than after.
Expected<void> check_writable(const std::string& path);

}  // namespace trainyard
