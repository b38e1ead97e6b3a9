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

/// What processes of one origin have in common. Anybody can set variables, so they tell processes
/// of one user apart and nothing else.
struct ProcessMarks {
  uid_t user = 0;
  std::vector<std::string> variables;  // "NAME=value", in the environment that it was started with
};
std::vector<pid_t> processes_with(const ProcessMarks& marks);
bool has_marks(pid_t pid, const ProcessMarks& marks);

/// If it still is what `is_meant` says.
void signal_if(pid_t pid, int number, const std::function<bool(pid_t)>& is_meant);

}  // namespace trainyard
