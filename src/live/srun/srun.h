// `srun` inside a job: starts the tasks of a step side by side, each in a process group of its own,
// and ends when they have. The supervisor's program under another name, so that there is one file
// to install; it runs as the job's user, knows its job from the environment, and asks nobody.
//
// - Signals that it gets are passed on to the tasks. The supervisor asks a job to save by
// signalling
//   the tasks themselves (supervise.h).
// - Tasks die with it, and what they leave behind when the last of them has ended is killed.
// - It ends with the highest status of its tasks, 128 + n for signal n.
#pragma once

#include <span>
#include <string>

#include "live/srun/step_options.h"

namespace trainyard {

/// Returns what the process is to end with.
int srun(std::span<const std::string> words, const Variables& variables);

/// The environment of this process.
Variables own_variables();

}  // namespace trainyard
