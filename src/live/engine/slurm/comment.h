// What a policy needs to know of a job and Slurm does not: its user writes it into the comment.
//
//   sbatch --comment="trainyard: class=trial grace=120 model=resnet50" train.sh
//
//   class=trial|batch   grace=SECONDS|2m   model=NAME   signal=[B:]USR1   time=EXPECTED
//   measured_on=KIND
//
// A comment that does not begin with "trainyard:" says nothing to us.
#pragma once

#include <string_view>

#include "base/error.h"
#include "live/job/job_spec.h"

namespace trainyard {

/// Puts what it says in the place of what stood there.
Expected<void> read_slurm_comment(std::string_view comment, JobSpec& spec);

}  // namespace trainyard
