// The first process of one worker: in the run's control group, with its output in a pipe, as the
// job's user and with nothing of the daemon's (inheritance.h).
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <optional>

#include "base/error.h"
#include "base/time.h"
#include "live/supervisor/cgroup.h"
#include "live/supervisor/login_limits.h"
#include "live/supervisor/run_plan.h"
#include "live/system/files.h"

namespace trainyard {

struct WorkerProcess {
  pid_t pid = 0;      // also its process group and session
  Descriptor output;  // what it writes, to be read; does not block
};

/// A process that was killed before it became the user's program, and is left to be reaped.
struct UnbornWorker {
  pid_t pid = 0;
  Descriptor outcome;  // closed at its other end when it dies or runs its program

  /// True if it sleeps in the kernel, as in a file system that hangs, and cannot die yet. None of
  /// the user's program has run in it or will, so that it has no GPU.
  [[nodiscard]] bool is_stuck() const;
};

/// How long a process may take to become the user's program.
struct StartPatience {
  Duration limit = seconds(30);
  std::function<bool()> is_stopped;  // asked meanwhile: whether it is to begin no more
};

/// Returns when the program runs, or says why it does not. The process dies with the one that
/// starts it. One that took too long is killed, and becomes `unborn`.
Expected<WorkerProcess> start_worker(const RunPlan& plan, std::int32_t rank,
                                     const RunCgroup& cgroup, const LoginLimits& login,
                                     const StartPatience& patience,
                                     std::optional<UnbornWorker>& unborn);

}  // namespace trainyard
