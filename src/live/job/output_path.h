// Where a job writes its output to when its user says so (--output, --error): a file name with
// sbatch's patterns.
//
//   %j %J  the job's number            %x  its name      %N  the machine's name
//   %s     the number of srun's step   (%J is then "JOB.STEP")
//   %A     its array's, or its own     %u  its user      %n  the machine among the job's: 0
//   %a     its task's                  %t  the worker's rank
//   %%     a percent sign              %4j  with zeros, at least four digits
//
// A name that is not absolute is below the job's directory.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "live/job/job_array.h"

namespace trainyard {

/// What the patterns stand for.
struct OutputNames {
  JobNumber job = 0;
  ArrayTask task;
  std::string_view name, user, host;
  std::int32_t rank = 0;
  std::int64_t step = -1;  // -1: not of srun
};

/// A pattern that is not known stays as it is, as in Slurm.
std::string output_path(std::string_view pattern, const OutputNames& names);

/// Whether every worker has a file of its own.
bool has_rank(std::string_view pattern);

}  // namespace trainyard
