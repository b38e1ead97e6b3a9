// Markets that are solved once, without a trace: what a study of the solver itself measures. In a
// study the line of a policy that begins with "instances:" names one of these sets; it has nothing
// to do with the condition's workload and cluster.
//
//   instances:small  20 random markets of 3 jobs and 9 workers that all differ, for each seed
//   instances:large  one of 8 jobs and 4 kinds of 12 workers: about the largest that can be solved
//                    exactly within a minute
//
// Numbers, each the mean over the set unless it says otherwise:
//
//   gap.{mean,worst}       by how much the sum of completion times is above the least there is
//   even_gap.{mean,worst}  the same of 459 even draws, each matched once or thrice, without trades
//   jain, jain_unweighted  Jain's index over completion / completion in an equal split, with the
//                          policy's weight of fairness, and with none
//   fairness_cost          by how much that weight raises the sum
//   speedup                time of the exact solution over ours, on one thread
#pragma once

#include <cstdint>
#include <string_view>

#include "base/error.h"
#include "study/study.h"

namespace trainyard {

[[nodiscard]] bool names_instances(std::string_view policy);
Expected<void> check_instances(std::string_view policy);
/// The set must be known.
Metrics solve_instances(std::string_view policy, std::uint64_t seed);

}  // namespace trainyard
