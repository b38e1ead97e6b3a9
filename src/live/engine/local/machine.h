// This machine as a cluster of one, named after the host: its GPUs, CPUs and memory. Where it has
// no GPU, each CPU core stands in for one (kind "cpu"), so that everything can be tried anywhere.
#pragma once

#include <cstdint>

#include "base/error.h"
#include "live/engine/local/gpus.h"
#include "model/cluster.h"

namespace trainyard {

/// With these GPUs; those of several kinds count as the first's. With none: `slots` stand-ins, or
/// as many as there are cores. A stand-in is called by its number, which no GPU is.
Expected<Cluster> this_machine(const std::vector<Gpu>& gpus, std::int32_t slots = 0);

std::string host_name();

}  // namespace trainyard
