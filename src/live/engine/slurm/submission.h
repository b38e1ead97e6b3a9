// A job of `trainyard submit` as a batch job of Slurm's: one for each run.
//
// Slurm shares a gang evenly over its nodes, so each must have as many workers as the others. A
// script that runs once (#SBATCH) is submitted as it is. Otherwise the worker's command is: alone
// in a script that becomes it, or started by srun with what torchrun sets.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "live/engine/slurm/slurm_controller.h"

namespace trainyard {

/// `nodes` are those of the workers, by rank.
Expected<SlurmSubmission> submission_of(const Launch& launch,
                                        const std::vector<std::string>& nodes);

}  // namespace trainyard
