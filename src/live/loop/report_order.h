// In which order an engine's reports are heard. After a restart they may come by the numbers of
// jobs: "A runs on these GPUs" before "B, which had them, has ended".
#pragma once

#include <vector>

#include "live/engine/engine.h"

namespace trainyard {

/// Reports of machines come after those of runs: what had ended was not broken by a machine that is
/// down now.
/// Reports that runs have started on GPUs of the engine's choice come after all others, but before
/// the next change of the cluster: ids of machines mean that of before. Each run's reports stay in
/// their order; where one has ended too, where it ran does not matter any more.
std::vector<EngineReport> in_order(std::vector<EngineReport> reports);

}  // namespace trainyard
