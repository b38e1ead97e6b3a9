// How much output of a run is kept. What is written was never asked for, so it cannot be refused
// as a submission is: the bound is set when the run is started.
//
//   left  = what its user may still take of the disk (disk_budget.h)
//           - what the user's runs that have not ended may still write, each up to its own bound
//   bound = left / 2 for all workers of the run together, and for each no more than is usual
//
// Half of it, so that the user's next job has room too. The sum of all that is kept never exceeds
// the budget, whatever jobs write and however many were submitted before any of them wrote.
#pragma once

#include "live/loop/live_state.h"

namespace trainyard {

/// Bytes for each worker of the job, which is about to be started. 0 if the engine keeps no output.
/// An error if the journal cannot be read.
Expected<std::int64_t> output_limit_of(const LiveState& state, const JobRecord& job);

}  // namespace trainyard
