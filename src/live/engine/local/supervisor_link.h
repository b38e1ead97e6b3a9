// The engine's side of the files in supervisor/run_plan.h: what a run's supervisor has left there,
// and whether it lives.
#pragma once

#include <optional>
#include <string>

#include "base/error.h"
#include "base/time.h"
#include "live/supervisor/run_plan.h"
#include "live/system/files.h"

namespace trainyard {

/// A pidfd of the process that holds the run's lock; none: it has ended. Asks the kernel, and asks
/// again with the process held, so that a number that was given anew is not mistaken for it.
Expected<Descriptor> supervisor_of(const std::string& directory);

/// When all its workers ran, if they did.
std::optional<Time> time_of_start(const std::string& directory);
std::optional<RunEnd> read_end(const std::string& directory);
std::optional<RunPlan> read_plan(const std::string& directory);

}  // namespace trainyard
