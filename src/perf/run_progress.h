// How work, time and checkpoints relate for a running job.
//
// A job with a checkpoint interval I and cost C works for I, writes a checkpoint for C, works for
// I, and so on; no checkpoint is written at the very end. With I = 0 it never does. Example, I = 10
// min and C = 1 min: 25 min of work take 27 min; 12 min after the start 11 min of work are done, of
// which 10 are saved, and 1 min went into the checkpoint.
//
// Work takes as long as the rate says, checkpoints what they take: where every minute of work takes
// 1.5, 25 min of work take 37.5 + 2 min. When the rate changes, progress is brought up to that
// instant and goes on from there: 5 min into the example at half the rate, the 20 min that are left
// take 40 + 2 min.
#pragma once

#include <algorithm>

#include "base/time.h"
#include "model/job.h"
#include "perf/rate.h"

namespace trainyard {

/// Of a run: what it had done at an instant, and how it goes on from then.
struct RunProgress {
  Time at;
  Duration done;     // of the job's work
  Duration saved;    // the part of it that a failure leaves: all, when the run began
  Duration writing;  // time spent so far on a checkpoint that is being written
  Rate rate;

  bool operator==(const RunProgress&) const = default;
};

/// A run that begins now with so much done in earlier ones.
inline RunProgress begin_progress(Time now, Duration done, Rate rate) {
  return {now, done, done, {}, rate};
}

/// Work until the next checkpoint is due; 0 while it is written.
inline Duration until_checkpoint(const RunProgress& p, const Job& job) {
  return job.checkpoint_interval - (p.done - p.saved);
}

/// The same run at a later instant.
inline RunProgress progress_at(RunProgress p, const Job& job, Time at) {
  Duration elapsed = at - p.at;
  p.at = at;
  if (job.checkpoint_interval.us == 0) {
    p.done += p.rate.work_in(elapsed);
    return p;
  }
  // What is left of the present interval and its checkpoint, then whole ones.
  const Duration working = p.rate.time_for(until_checkpoint(p, job));
  if (const Duration whole = working + (job.checkpoint_cost - p.writing); elapsed >= whole) {
    elapsed -= whole;
    p.saved += job.checkpoint_interval;
    const Duration cycle = p.rate.time_for(job.checkpoint_interval) + job.checkpoint_cost;
    p.saved += job.checkpoint_interval * (elapsed / cycle);
    elapsed = elapsed % cycle;
    p.done = p.saved;
    p.writing = {};
  }
  const Duration due = until_checkpoint(p, job);
  p.writing += std::max(elapsed - p.rate.time_for(due), Duration{});
  p.done += std::min(due, p.rate.work_in(elapsed));
  return p;
}

/// How long so much more work takes from there on.
inline Duration time_for(const RunProgress& p, const Job& job, Duration work) {
  if (work.us <= 0) return work;
  if (job.checkpoint_interval.us == 0) return p.rate.time_for(work);
  const Duration due = until_checkpoint(p, job);
  if (work <= due) return p.rate.time_for(work);
  work -= due;
  const std::int64_t more = (work.us - 1) / job.checkpoint_interval.us;
  return p.rate.time_for(due) + (job.checkpoint_cost - p.writing) +
         (p.rate.time_for(job.checkpoint_interval) + job.checkpoint_cost) * more +
         p.rate.time_for(work - job.checkpoint_interval * more);
}

/// The same from a (re)start on.
inline Duration run_time(const Job& job, Duration work, Rate rate = {}) {
  return time_for(begin_progress({}, {}, rate), job, work);
}

}  // namespace trainyard
