// When a waiting job can be expected to start: what runs ends by its estimate, and those that wait
// before the job start in order as room comes free, if no other comes before it and nobody is
// paused. A person wants to know that; nothing is decided by it.
//
// Example: 4 GPUs; a holds 3 of them for another 2 h; b, the first in the queue, wants all 4 for 1
// h, c behind it wants 2. b starts in 2 h and c in 3; where others may pass the first in the queue,
// c starts when a leaves, in 2 h, if it then fits beside b: it does not, so in 3 h as well.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "yard/yard.h"

namespace trainyard {

struct Forecast {
  Time start;
  std::vector<JobId> relies_on;  // those whose estimates it is made of
};

/// On how many machines a job lets itself be placed.
using MostMachines = std::function<std::int32_t(JobId)>;

/// `queue` has the waiting jobs in order and ends with the one that is asked for; `may_pass`: a job
/// that fits goes, else none goes before the first. No value where a job that has outlived its
/// estimate would have to leave, or a machine that is down is needed.
std::optional<Forecast> forecast(const Yard& yard, std::span<const JobId> queue,
                                 const MostMachines& most_machines, bool may_pass);

}  // namespace trainyard
