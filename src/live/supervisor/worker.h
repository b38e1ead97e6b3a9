// The first process of one worker: in a session of its own, as the job's user and with that user's
// groups only, in the run's control group, with its output in a pipe.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>

#include "base/error.h"
#include "base/time.h"
#include "live/supervisor/cgroup.h"
#include "live/supervisor/run_plan.h"
#include "live/system/files.h"

namespace trainyard {

struct WorkerProcess {
  pid_t pid = 0;      // also its process group and session
  Descriptor output;  // what it writes, to be read; does not block
};

/// How long a process may take to become the user's program.
struct StartPatience {
  Duration limit = seconds(30);
  std::function<bool()> is_stopped;  // asked meanwhile: whether it is to begin no more
};

/// Returns when the program runs, or says why it does not. The process dies with the one that
/// starts it. One that took too long is killed, and left to be reaped: that may take long too.
Expected<WorkerProcess> start_worker(const RunPlan& plan, std::int32_t rank,
                                     const RunCgroup& cgroup, const StartPatience& patience);

}  // namespace trainyard
