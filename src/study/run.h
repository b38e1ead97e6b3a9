// One simulated run, with the distributions that a report shows of it.
#pragma once

#include "sim/simulation.h"
#include "study/compare.h"

namespace trainyard {

/// What a finished simulation has to say to a comparison.
Run summarize_run(const Simulation& simulation);

}  // namespace trainyard
