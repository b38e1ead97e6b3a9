// This machine as a cluster of one, named after the host: its GPUs, CPUs and memory. Where it has
// no GPU, each CPU core stands in for one (kind "cpu"), so that everything can be tried anywhere.
#pragma once

#include <cstdint>

#include "base/error.h"
#include "live/engine/local/gpus.h"
#include "model/cluster.h"

namespace trainyard {

/// `slots` other than 0: that many stand-ins, whatever the machine has.
Expected<Cluster> this_machine(std::int32_t slots = 0);

/// The same from what was found; GPUs of several kinds count as the first's.
Expected<Cluster> machine_with(const GpuKinds& gpus, std::int32_t slots);

std::string host_name();

}  // namespace trainyard
