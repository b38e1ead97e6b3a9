// What opens the engine of a Slurm cluster, and what gives its jobs back to Slurm's own scheduler.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "live/engine/slurm/slurm_engine.h"

namespace trainyard {

struct OnSlurm {
  std::string state;      // the daemon's directory
  std::string partition;  // whose jobs it takes
  bool dry_run = false;   // it watches, and changes nothing
};

Expected<std::unique_ptr<Engine>> open_engine_on_slurm(System& system, const OnSlurm& options);

/// Every job of the partition that waits: held and pinned by us no longer. The ids of those that
/// were.
Expected<std::vector<std::string>> release_jobs(SlurmController& slurm,
                                                const std::string& partition);

}  // namespace trainyard
