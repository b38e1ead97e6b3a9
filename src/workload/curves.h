// How jobs learn where a trace does not say, which is always: a job whose model has a learning
// curve in the catalogue has that one. Such a curve is of a run of the usual length, and the job's
// duration is taken for that.
#pragma once

#include "model/workload.h"
#include "perf/catalogue.h"

namespace trainyard {

/// Gives jobs without a curve of their own that of their model, where it has one.
void give_curves(const Catalogue& models, Workload& workload);

}  // namespace trainyard
