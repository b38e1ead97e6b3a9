// What earlier daemons have left in a state directory: run directories and checkpoints by the
// numbers of their jobs, and runs that still live.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "live/engine/engine.h"
#include "live/engine/local/gpus.h"
#include "live/engine/local/run_host.h"
#include "live/engine/local/run_places.h"
#include "live/supervisor/run_plan.h"

namespace trainyard {

/// `gpus`: those of the cluster, by its numbers; empty: it has stand-ins (launch.h).
std::map<JobNumber, Engine::Trace> find_traces(RunHost& host, const RunPlaces& places,
                                               const std::vector<Gpu>& gpus);

/// Runs of which a supervisor lives.
std::vector<RunId> living_runs(RunHost& host, const RunPlaces& places);

/// Where a run's workers are, by its plan. GPUs that the cluster does not have are left out.
std::vector<WorkerPlace> places_of(const RunPlan& plan, const std::vector<Gpu>& gpus);

/// A run that lives and that the journal does not know, as a job that was born here. Its name is
/// "run JOB.RUN"; stray_run() reads it again.
BirthReport birth_of(const RunPlan& plan, const std::vector<Gpu>& gpus);
std::optional<RunId> stray_run(const std::string& name);

}  // namespace trainyard
