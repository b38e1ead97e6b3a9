// Choosing from a workload: the first jobs, those that fit a cluster, which of them are trials.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "model/cluster.h"
#include "model/workload.h"

namespace trainyard {

void keep_first(std::size_t count, Workload& workload);

/// How many jobs the cluster could never run, even when empty.
std::size_t count_larger(const Workload& workload, const Cluster& cluster);
/// Leaves those out, and their values of `waits` where that has one for each job; returns how many
/// they were.
std::size_t drop_larger(const Cluster& cluster, Workload& workload,
                        std::vector<Duration>* waits = nullptr);

/// For traces that know no classes: a job shorter than `limit` on at most `max_gpus` is a trial
/// job, every other a batch job. Returns how many are trials.
std::size_t mark_trials(Duration limit, std::int32_t max_gpus, Workload& workload);

}  // namespace trainyard
