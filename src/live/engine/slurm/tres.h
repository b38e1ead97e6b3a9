// GPUs in Slurm's texts: what is asked for ("gres:gpu:v100:4"), what a node has
// ("gpu:v100:4(S:0-1)") and which a job was given there ("gpu:v100:2(IDX:0-1)").
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "live/engine/slurm/slurm_controller.h"

namespace trainyard {

/// All of them together; the kind of the first that has one.
SlurmGpus parse_tres_gpus(std::string_view text);
/// Ascending.
std::vector<std::int32_t> parse_gpu_numbers(std::string_view text);

}  // namespace trainyard
