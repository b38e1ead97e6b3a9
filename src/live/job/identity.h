// Who asks, and as whom a job runs. Comes from the kernel (a Unix socket's peer) or from a token
// that the operator made; never from what a request says of itself.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

namespace trainyard {

/// Each may do what those before it may.
enum class Role : std::uint8_t {
  agent,     // of one machine: sees which of its jobs send in which flow class, and nothing else
  viewer,    // sees the cluster and the policy
  user,      // submits jobs, and handles those that are theirs
  operator_  // handles every job, machines and the policy
};

struct Identity {
  std::string user;  // a name of this machine's users, or the number where it has none
  uid_t uid = 0;
  gid_t gid = 0;
  Role role = Role::user;
  std::string via = "socket";  // how it was shown: "socket", or "token NAME"
  std::string machine{};       // of an agent: the one that it is for
};

}  // namespace trainyard
