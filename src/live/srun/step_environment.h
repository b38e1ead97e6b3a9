// What a task of a step finds in its environment, beside what srun was given: what Slurm sets for
// it, and what torch.distributed looks for. The latter is left out under submitit, which sets it
// itself and fails where it finds it set.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "live/srun/step_gpus.h"
#include "live/srun/step_options.h"
#include "live/system/held_port.h"

namespace trainyard {

struct Step {
  std::int64_t number = 0;
  StepOptions options;
  StepGpus gpus;
  HeldPort port;  // of the tasks, for as long as the step runs
};

/// "NAME=value", by name. `variables` is srun's own environment.
std::vector<std::string> task_environment(const Step& step, std::int32_t task,
                                          const Variables& variables);

/// A task's file, with Slurm's patterns filled in.
std::string task_file(std::string_view pattern, const Step& step, std::int32_t task,
                      const Variables& variables);

}  // namespace trainyard
