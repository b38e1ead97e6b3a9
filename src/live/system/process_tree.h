// Finding processes that somebody may not want found, and ending the right ones: a number is held
// by a pidfd before it is looked at a second time, so that none that was given anew is struck.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace trainyard {

/// All below `root`. One that lost its parent is below the next subreaper above it, which `root`
/// must be: so neither a session of its own nor a double fork hides a process.
std::vector<pid_t> descendants(pid_t root);
bool is_descendant(pid_t pid, pid_t root);

/// True if a child of this process lives.
bool has_living_child(pid_t parent);
/// The number of the process that a pidfd holds; 0 or less: it has ended.
pid_t pid_of(int pidfd);

/// Processes that were started with all of these "NAME=value" in their environment.
std::vector<pid_t> processes_with_environment(const std::vector<std::string>& variables);
bool has_environment(pid_t pid, const std::vector<std::string>& variables);

/// If it still is what `is_meant` says.
void signal_if(pid_t pid, int number, const std::function<bool(pid_t)>& is_meant);

}  // namespace trainyard
