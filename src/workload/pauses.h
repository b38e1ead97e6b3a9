// What pauses cost where a trace does not say, which is nearly always: free pauses would let a
// policy look good by pausing all the time.
//
// A job whose model is known saves and loads its checkpoint (perf/pause_cost.h); any other takes
// what the Helios artifact assumes for a restart by its GPUs: 7 s for one, 30 s up to 8, 60 s for
// more, a quarter of it for saving. There is no grace. The duration that was recorded has the first
// start in it, so that only later starts load.
#pragma once

#include "model/workload.h"
#include "perf/catalogue.h"
#include "perf/pause_cost.h"

namespace trainyard {

PauseCost cost_of_model(const Catalogue& models, const Workload& workload, const Job& job);

/// Gives the jobs these costs, if the workload does not say what pauses cost.
void model_pauses(const Catalogue& models, Workload& workload);

/// What a pause and the start after it take, the mean over the jobs; 0: pauses are free.
Duration mean_pause(const Workload& workload);

/// Whatever the workload says.
void make_pauses_free(Workload& workload);

}  // namespace trainyard
