// As whom a job runs: what this machine knows of its owner at the time it starts.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/error.h"
#include "live/job/identity.h"

namespace trainyard {

struct Account {
  uid_t uid = 0;
  gid_t gid = 0;
  std::vector<gid_t> groups;  // all of them
  std::string user, home, shell;
};

/// Refuses a number that has become another's since the job was submitted. A group that the user is
/// not in (any more) gives way to the user's own; a number without an account has only the group
/// that it came with.
Expected<Account> account_of(const Identity& owner);

}  // namespace trainyard
