// What stands in STATE/bin, first in a job's PATH: stand-ins for what training scripts and
// libraries call of Slurm inside a job. They run as the job's user and can do nothing that the job
// cannot.
//
//   scontrol requeue ID         Lightning and submitit, when they have saved: the job is ended
//                               (SIGTERM, and SIGKILL 30 s later) and run again
//   scontrol show hostnames     scripts, for the first machine's name
//   srun [OPTION...] COMMAND    scripts, to start the job's tasks (live/srun/srun.h)
//   profile                     BASH_ENV of jobs: puts STATE/bin back into a PATH that a login
//                               shell's profiles have reset, and reads the BASH_ENV of the user
#pragma once

#include <string>

#include "base/error.h"

namespace trainyard {

/// For everybody to run. `supervisor` is the program that is srun when called by that name.
Expected<void> write_shims(const std::string& state, const std::string& supervisor);

}  // namespace trainyard
