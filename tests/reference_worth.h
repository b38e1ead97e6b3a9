// What jobs' seconds, GPUs and widths are worth, in the reference: see docs/policies.md.
#pragma once

#include "reference_state.h"

namespace trainyard::reference {

/// Of a second of the job, in seconds of an ordinary one.
double worth(const State& state, std::size_t j);
double worth_unless_overdue(const State& state, std::size_t j);
/// Its GPUs, or as many as its part of the CPUs or the memory is worth; at least 1, at most a 32nd
/// of the cluster.
double width(const State& state, std::size_t j);
/// Of a GPU-second, in seconds of all jobs that wait, but one.
double gpu_second(const State& state);

}  // namespace trainyard::reference
