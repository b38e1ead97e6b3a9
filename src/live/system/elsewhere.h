// A folder of the state directory that is kept on another file system: a symbolic link to it stands
// in its place, so that every path stays as it was.
//
// The folder there has a file `belongs-to`, with the path that leads to it. A folder of another
// daemon, or of the state directory that this one was copied from, is refused by that; and so is
// the empty mount point of a file system that is not mounted.
#pragma once

#include <string>

#include "base/error.h"

namespace trainyard {

/// Has `place` (STATE/runs) lead to the folder `target`; empty: to where it leads already. Fails if
/// something is kept that would not be found any more.
Expected<void> keep_elsewhere(const std::string& place, const std::string& target);

}  // namespace trainyard
