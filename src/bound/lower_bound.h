// A mean job completion time that no scheduler can go below.
//
// Job j needs g_j GPUs at once for r_j seconds from a_j on; the cluster has G GPUs, and pauses are
// free. Give GPU time any prices p(t) >= 0. A schedule ends each job at a C_j and runs it in
// seconds S_j; it uses at most G GPUs at any time, so
//
//   sum C_j  >=  sum [ C_j + g_j * (sum of p over S_j) ]  -  G * (sum of p over all time)
//            >=  sum min [ C + g_j * (sum of p over S) ]  -  G * (sum of p over all time)  =:  L(p)
//
// where each minimum is over the ends and seconds that the job could have if it were alone
// (cheapest_run.h). So every L(p) is a lower bound: with p = 0 that of the run times alone. L is
// concave, and a subgradient at p is what the cheapest runs use less G: where they want more than
// there is, the price has to rise. The prices of the best L are what GPU time was worth.
//
// Example: G = 1; job A needs its GPU for 3 s from 0 on, B for 1 s from 1 on. Run times alone: 3 +
// 1. With p = 1 from 1 to 2, A costs 4 (at once it ends at 3 and pays 1; pausing from 1 to 2 it
// ends at 4) and B, counted from its submission, 2. L = 4 + 2 - 1 = 5, and pausing A for B has just
// that.
//
// A looser bound is known: the sum of M_j + r_j / 2, where M_j is the mean of S_j, over all fluid
// schedules. As C_j >= M_j + r_j / 2, L is no lower for the same prices. In the example the fluid
// bound is 4 2/3: there a pause counts only by what it moves the mean of A's seconds.
//
// The prices are constant within cells of time. They begin as those of a greedy fluid schedule
// (greedy_prices.h). Polyak's steps raise L: a step goes along the subgradient, and a part of the
// step before where both point apart (Camerini, Fratta and Maffioli, 1975), as far as would reach a
// value that is hoped for. That comes nearer to the best so far when steps miss it. Then cells at
// which GPU time has a price are halved, and so on until that gains little.
#pragma once

#include <span>
#include <vector>

#include "bound/cheapest_run.h"

namespace trainyard {

struct LowerBound {
  std::size_t jobs = 0;
  double mean_jct_s = 0;  // no schedule has less
  double mean_run_s = 0;  // what the run times alone say
  Prices prices = {};     // that prove it; neighbouring cells differ
};

/// Deterministic. Takes O(steps x jobs x cells between a job's submission and its end) time.
LowerBound lower_bound(std::span<const Gang> gangs, double gpus);

}  // namespace trainyard
