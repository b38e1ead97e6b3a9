// What a person writes behind `srun`, inside a job on one machine. Options that only steer where
// on a cluster tasks go, or how fast they are, are taken and mean nothing; what would change what
// the tasks do and is not supported is refused.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/time.h"

namespace trainyard {

using Variables = std::map<std::string, std::string>;

struct StepOptions {
  std::int32_t tasks = 1;
  std::optional<std::int32_t> gpus;           // of the step: each task sees all of these
  std::optional<std::int32_t> gpus_per_task;  // each task sees its own,
  bool binds_gpus = true;                     // unless it is to see those of the others too
  std::optional<std::int32_t> cpus_per_task;
  bool overlap = false;           // GPUs that another step has taken will do
  bool label = false;             // "3: " before every line of task 3
  bool kill_on_bad_exit = false;  // of one task, the others
  Duration wait;                  // for the others, when one has ended; 0: as long as it takes
  std::string output, error, directory;  // empty: srun's own
  bool append = false;
  bool exports_all = true;  // of srun's environment
  Variables exports;        // beside that
  std::vector<std::string> command;
};

/// `words` without the program's name; `variables` is srun's environment, in which Slurm's own
/// defaults stand (SLURM_NTASKS ...).
Expected<StepOptions> parse_step_options(std::span<const std::string> words,
                                         const Variables& variables);

}  // namespace trainyard
