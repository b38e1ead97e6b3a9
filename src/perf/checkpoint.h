// How work, time and checkpoints relate for a running job.
//
// A job with a checkpoint interval I and cost C works for I, writes a checkpoint for C, works for
// I, and so on; no checkpoint is written at the very end. With I = 0 it never does. Example, I = 10
// min and C = 1 min: 25 min of work take 27 min; 12 min after the start 11 min of work are done, of
// which 10 are saved, and 1 min went into the checkpoint.
#pragma once

#include <algorithm>

#include "base/time.h"
#include "model/job.h"

namespace trainyard {

/// The time that `work` takes from a (re)start on.
constexpr Duration run_time(const Job& job, Duration work) {
  if (job.checkpoint_interval.us == 0 || work.us <= 0) return work;
  const std::int64_t checkpoints = (work.us - 1) / job.checkpoint_interval.us;
  return work + job.checkpoint_cost * checkpoints;
}

/// The work done `elapsed` after a (re)start.
constexpr Duration work_done(const Job& job, Duration elapsed) {
  if (job.checkpoint_interval.us == 0) return elapsed;
  const Duration cycle = job.checkpoint_interval + job.checkpoint_cost;
  return job.checkpoint_interval * (elapsed / cycle) +
         std::min(job.checkpoint_interval, elapsed % cycle);
}

/// The part of it that a checkpoint holds, and a failure leaves.
constexpr Duration work_saved(const Job& job, Duration elapsed) {
  if (job.checkpoint_interval.us == 0) return {};
  const Duration cycle = job.checkpoint_interval + job.checkpoint_cost;
  return job.checkpoint_interval * (elapsed / cycle);
}

}  // namespace trainyard
