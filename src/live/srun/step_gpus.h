// Which of its job's GPUs a step gets. One that names no number sees all of them, beside whoever
// else does. One that does takes as many as nobody else has taken: several steps at once, each on
// its own GPUs, is how scripts run a sweep within a job. Taken is what is locked (flock) in the
// job's own directory, so that a step gives back what it had however it ends.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/error.h"
#include "live/srun/step_options.h"
#include "live/system/files.h"

namespace trainyard {

struct StepGpus {
  std::vector<std::string> all;                   // by number, as the job's; empty: none
  std::vector<std::vector<std::string>> by_task;  // what each task sees
  bool named = false;                             // the step asked for a number
  std::vector<Descriptor> taken;
};

/// How many GPUs the step asks for, if it does.
std::optional<std::int32_t> gpus_asked(const StepOptions& options);

/// What tasks see of the step's GPUs.
std::vector<std::vector<std::string>> share_out(const std::vector<std::string>& gpus,
                                                const StepOptions& options);

/// Waits until there are enough, and says so on stderr. `directory` is the job's own.
Expected<StepGpus> take_gpus(const StepOptions& options, const std::vector<std::string>& of_job,
                             const std::string& directory);

/// The number of this step of the run: 0, 1, 2 ...
Expected<std::int64_t> next_step_number(const std::string& directory);

}  // namespace trainyard
