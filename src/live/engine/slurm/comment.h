// What a policy needs to know of a job and Slurm does not: its user writes it into the comment.
//
//   sbatch --comment="trainyard: class=trial grace=120 model=resnet50" train.sh
//
//   class=trial|batch   grace=SECONDS|2m   model=NAME   signal=[B:]USR1   time=EXPECTED
//   measured_on=KIND
//
// While it runs, the job itself keeps another word there, with how far it is (live/job/progress.h):
//
//   trainyard: class=trial told0={"step":120,"total":1000,"accuracy":0.87}
//
// The number is Slurm's restart count, so that what an earlier run told is not taken for this
// one's. Slurm lets a job's own user write there and nobody else, and every look at the queue
// brings it: no file of a user has to be read, and no program runs as root on the nodes.
//
// A comment that does not begin with "trainyard:" says nothing to us.
#pragma once

#include <optional>
#include <string_view>

#include "base/error.h"
#include "live/job/job_spec.h"
#include "live/job/progress.h"

namespace trainyard {

/// Puts what it says in the place of what stood there.
Expected<void> read_slurm_comment(std::string_view comment, JobSpec& spec);

/// What a run of this restart count told; none if it told nothing, or nothing that can be.
std::optional<JobProgress> told_in_comment(std::string_view comment, std::uint32_t restarts);
/// True for a word by which a job tells its progress.
bool is_told_word(std::string_view word);

}  // namespace trainyard
