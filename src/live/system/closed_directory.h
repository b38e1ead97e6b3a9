// A directory of ours through which one user passes to what is below, and nobody else but us: other
// users cannot even ask for the owner, times and sizes of what is in it.
#pragma once

#include <sys/types.h>

#include <string>

#include "base/error.h"

namespace trainyard {

/// Makes the directory if it is missing, and gives it these rights if it has others. A POSIX access
/// list names the user; where the file system has none, the user's primary group may pass instead.
/// One that is right already is left alone, so that its times tell nothing.
[[nodiscard]] Expected<void> make_closed_directory(const std::string& path, uid_t user,
                                                   gid_t group);

/// True if the file system of `path` has access lists.
[[nodiscard]] bool has_access_lists(const std::string& path);

}  // namespace trainyard
