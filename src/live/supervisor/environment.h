// What a worker's process finds in its environment: what its user submitted, and on top of it what
// torch.distributed, Slurm's clients and our own library look for. Who reads which variable is in
// the table of environment_test.cpp.
//
// A script that runs once finds what Slurm sets for one, and no more: no RANK, as it is no worker.
// Its workers get theirs from srun (live/srun/).
//
// The directory STATE/bin with an `srun` and a `scontrol` that know this job stands first in PATH.
// First, because SLURM_JOB_ID is a number of ours: on a machine that also belongs to a Slurm
// cluster, the real scontrol would requeue somebody else's job of that number. For the same reason
// no SLURM_ variable of the environment that the job was submitted from reaches it. A login shell
// resets PATH; BASH_ENV, which bash reads after its profiles, puts it right (shims.h).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "live/supervisor/run_plan.h"

namespace trainyard {

/// "NAME=value", by name.
std::vector<std::string> worker_environment(const RunPlan& plan, std::int32_t rank);

/// What every process of a run was started with and no other has: for finding those that are left.
/// `directory` is the run's.
std::vector<std::string> marks_of_run(const std::string& directory, std::int64_t job,
                                      std::uint32_t run);

}  // namespace trainyard
