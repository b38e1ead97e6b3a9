// How work, time and checkpoints relate for a running job.
//
// A job with a checkpoint interval I and cost C works for I, writes a checkpoint for C, works for
// I, and so on; no checkpoint is written at the very end. With I = 0 it never does. Example, I = 10
// min and C = 1 min: 25 min of work take 27 min; 12 min after the start 11 min of work are done, of
// which 10 are saved, and 1 min went into the checkpoint.
//
// Where a job is slowed down, work takes `slowdown` times as long, and checkpoints what they take:
// with a slowdown of 1.5, 25 min of work take 37.5 + 2 min. Intervals are rounded up to whole
// microseconds, so that work is never done before its time.
#pragma once

#include <algorithm>
#include <cmath>

#include "base/time.h"
#include "model/job.h"

namespace trainyard {

/// How long so much work takes without checkpoints.
inline Duration stretched(Duration work, double slowdown) {
  if (slowdown == 1) return work;
  const double us = std::ceil(static_cast<double>(work.us) * slowdown);
  return us < 9e18 ? Duration{static_cast<std::int64_t>(us)} : Duration::max();
}

/// How much work so much time is, at most.
inline Duration shrunk(Duration time, double slowdown) {
  if (slowdown == 1) return time;
  return {static_cast<std::int64_t>(static_cast<double>(time.us) / slowdown)};
}

/// The time that `work` takes from a (re)start on.
inline Duration run_time(const Job& job, Duration work, double slowdown = 1) {
  if (work.us <= 0) return work;
  if (job.checkpoint_interval.us == 0) return stretched(work, slowdown);
  const std::int64_t checkpoints = (work.us - 1) / job.checkpoint_interval.us;
  return (stretched(job.checkpoint_interval, slowdown) + job.checkpoint_cost) * checkpoints +
         stretched(work - job.checkpoint_interval * checkpoints, slowdown);
}

/// The work done `elapsed` after a (re)start.
inline Duration work_done(const Job& job, Duration elapsed, double slowdown = 1) {
  if (job.checkpoint_interval.us == 0) return shrunk(elapsed, slowdown);
  const Duration cycle = stretched(job.checkpoint_interval, slowdown) + job.checkpoint_cost;
  return job.checkpoint_interval * (elapsed / cycle) +
         std::min(job.checkpoint_interval, shrunk(elapsed % cycle, slowdown));
}

/// The part of it that a checkpoint holds, and a failure leaves.
inline Duration work_saved(const Job& job, Duration elapsed, double slowdown = 1) {
  if (job.checkpoint_interval.us == 0) return {};
  const Duration cycle = stretched(job.checkpoint_interval, slowdown) + job.checkpoint_cost;
  return job.checkpoint_interval * (elapsed / cycle);
}

}  // namespace trainyard
