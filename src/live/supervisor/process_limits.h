// How many processes runs may have, threads included. The machine's numbers of processes are one
// pool for everybody: a job that took them all would leave none for root to log in with, nor for
// the daemon to end that job.
//
//   ceiling   the least of pid_max, threads-max and the pids.max of every group above the runs
//             (systemd's TasksMax= is such a one)
//   reserve   an eighth of the ceiling, at least 1,024, at most half: for everything but jobs
//   all runs  ceiling - reserve, as a limit on the parent group of all runs
//   a run     its part of that, by its part of the machine's GPUs (or stand-ins). GPUs are given
//             out once, so the limits of all runs together are within that of the parent
//
// Example: pid_max is 32,768 and the machine has 8 GPUs. 4,096 are reserved, all runs together may
// have 28,672, and a run with 2 GPUs 7,168.
//
// Where no pids controller can be used, the limit is RLIMIT_NPROC, of half of "all runs" for each
// user. It is weaker: it counts all of the user's processes on the machine, does not hold for root,
// and three users together can exceed "all runs".
#pragma once

#include <cstdint>
#include <limits>
#include <string>

namespace trainyard {

/// Limits on the number of processes that others have set.
struct ProcessBounds {
  static constexpr std::int64_t kNone = std::numeric_limits<std::int64_t>::max();
  std::int64_t pid_max = kNone, threads_max = kNone;
  std::int64_t groups_above = kNone;

  bool operator==(const ProcessBounds&) const = default;
};

/// Reads those of this machine; `group` is the directory of the group that holds the parent of all
/// runs, or empty if there is none.
ProcessBounds read_process_bounds(const std::string& group);

std::int64_t processes_of_all_runs(const ProcessBounds& bounds);
/// The part of a run with `gpus` of the machine's `capacity`.
std::int64_t processes_of_run(std::int64_t of_all_runs, std::int64_t gpus, std::int64_t capacity);
std::int64_t processes_of_user(std::int64_t of_all_runs);

}  // namespace trainyard
