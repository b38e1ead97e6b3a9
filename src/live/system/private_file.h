// Files with secrets: a private key, the hashes of tokens. One that somebody else could read is no
// secret any more, and one that somebody else could replace lets them in.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "base/error.h"

namespace trainyard {

/// Reads a file that only its owner may use, who must be root or the user of this process, in a
/// folder that only root or that user may write to. The error says what to type. Returns none if
/// there is no such file. A link to it is followed only if `follows_links`: a certificate's tools
/// make such links, the daemon itself does not.
Expected<std::optional<std::string>> read_private_file(const std::string& path, std::size_t limit,
                                                       bool follows_links);

/// An error if another user than root and that of this process may have written the file, or could
/// replace it.
Expected<void> check_not_others(const std::string& path);

}  // namespace trainyard
