// The real Slurm, through its library. Built where CMake finds libslurm; elsewhere opening it fails
// and says what to install (no_libslurm.cpp).
#pragma once

#include <memory>
#include <string>

#include "base/error.h"
#include "live/engine/slurm/slurm_controller.h"

namespace trainyard {

/// "22.05.8"; empty: this program was built without it.
std::string libslurm_version();

/// The cluster that $SLURM_CONF names, or /etc/slurm/slurm.conf. Jobs that are submitted go into
/// this partition; its nodes are the cluster. Call it once, before other threads begin.
Expected<std::unique_ptr<SlurmController>> open_libslurm(const std::string& partition);

}  // namespace trainyard
