// The state from which a simulation goes on, in place of an empty yard: that of another simulation
// (Simulation::save), or of a daemon's yard.
//
// What jobs have left is exact where the first jobs of the workload are those that were saved, in
// order, and their durations are the truth. Jobs that send over a shared network join it anew:
// their times then differ by what was left of the iterations that were under way.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "policy/learnt.h"
#include "yard/saved_job.h"

namespace trainyard {

struct Beginning {
  Time now;
  std::vector<SavedJob> jobs;  // the first of the workload; the others are submitted after `now`
  Learnt learnt = {};
  std::vector<MachineId> closed = {};                     // or down
  std::vector<std::pair<MachineId, double>> speeds = {};  // of machines that are not as usual
  /// The jobs that start, run or leave, in the order in which their next events are to happen, so
  /// far as that is known: by it those of one instant are told apart.
  std::vector<JobId> order = {};
  /// When the policy wants to decide next, if nothing happens; none: at once.
  std::optional<Time> wake = {};
};

}  // namespace trainyard
