// What the jobs of a workload need at least, wherever they run: the input of the lower bound.
//
// A gang holds its GPUs for no less than its first load and its work on the fastest kind of GPU
// that it takes, computing alone. Of its own checkpoints and pauses it pays the cheaper for each
// but the last interval of work: a job that is paused before every checkpoint never writes one.
//
// An elastic job uses as much GPU time at any size, as communication is left out. So it is a gang
// of its largest size that can be ready after its first load.
//
// What is left out makes a bound lower, and never wrong: communication, machines and racks, CPUs
// and memory, pauses beyond those above. All kinds of GPU are one pool. Failures are left out too:
// no bound for a cluster that fails is lower than that for one that does not.
#pragma once

#include <vector>

#include "bound/cheapest_run.h"
#include "model/cluster.h"
#include "model/workload.h"
#include "perf/placement_speed.h"

namespace trainyard {

/// The jobs whose times count (`Workload::uncounted`); the others are taken to be no burden.
std::vector<Gang> gangs_of(const Workload& workload, const Cluster& cluster,
                           const PlacementSpeed& speed);

}  // namespace trainyard
