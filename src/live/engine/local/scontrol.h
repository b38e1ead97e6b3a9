// A stand-in for Slurm's scontrol, for what training libraries call it for inside a job:
//
//   scontrol requeue ID         Lightning and submitit, when they have saved: the job is run again
//   scontrol show hostnames     scripts, for the first machine's name
//
// Where it stands in a job's PATH, and why: supervisor/environment.h.
#pragma once

#include <string>

#include "base/error.h"

namespace trainyard {

/// As STATE/bin/scontrol, for everybody to run.
Expected<void> write_scontrol(const std::string& state);

}  // namespace trainyard
