// Gavel's allocation (Narayanan et al., OSDI 2020, its heterogeneity-aware LAS): which share of its
// time each job should run on each kind of GPU, so that the job that is worst off is as well off as
// can be. With X the shares, a linear program, solved by Clp:
//
//   maximise  min over jobs i of  sum over kinds g of X_ig rate_ig gpus_i / even_i
//   so that   sum over g of X_ig <= 1          a job is at one place at a time
//             sum over i of gpus_i X_ig <= GPUs of kind g
//
// even_i is the job's rate if it were on every kind in proportion to the GPUs there; that jobs
// count by their GPUs makes a job of 4 GPUs run a quarter of the time of a job of one, as in
// Gavel's public scheduler. Of the many solutions we take one with the largest sum over all jobs
// (ours; Gavel takes what its solver finds).
//
// Jobs of as many GPUs whose rates are to each other as those of others, to a thousandth, are one
// column: to give each the mean of what they have is as good. So the program grows with the
// different models and sizes, not with the jobs.
//
// Example: a GPU of kind x and one of y; A is 3 times as fast on x as on y, B as fast on both.
// Evenly shared, A goes at (3 + 1) / 2 = 2 and B at 1. With A on x and B on y all the time they
// have 3 / 2 and 1 / 1 of that; B never can have more than 1, so that is the least.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace trainyard {

/// Shares of time, by job and kind. `rate`, by job and kind, counts for each job by itself; 0: it
/// cannot run there. A job whose gang fits on no kind has no share.
std::vector<double> max_min_shares(std::span<const std::int32_t> gpus_of_kind,
                                   std::span<const std::int32_t> gpus_of_job,
                                   std::span<const double> rate);

}  // namespace trainyard
