// Prices from the fluid schedule in which jobs may use any share of their GPUs: a good first guess.
//
// The least sum of mean busy times gives GPU time to the jobs with the least work w_j = g_j r_j
// first: a GPU-second earlier gains 1 / w_j of the mean of job j. If j is the last job that gets
// some at time t, a GPU-second is worth to it what it is worth to it at any other time at which it
// is the last: t / w_j + p(t) is the same. So the price falls by 1 / w_j a second along a line of
// j's own. It goes on where the line of the job that is the last after j's end begins, and is 0
// where GPUs are idle. These prices are exact if every job can use all GPUs, and the cells are
// small.
//
// Example: G = 1, A needs 1 s and B 3 s, both from 0 on. A runs until 1, B until 4. From 4 back to
// 1 the price rises by 1/3 a second to 1, from 1 back to 0 by 1 to 2.
#pragma once

#include <span>

#include "bound/cheapest_run.h"

namespace trainyard {

/// Sets the prices of cells that are given. O(jobs log jobs + cells x jobs that wait).
void set_greedy_prices(std::span<const Gang> gangs, double gpus, Prices& prices);

}  // namespace trainyard
