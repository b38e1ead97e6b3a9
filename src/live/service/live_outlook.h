// A forecast of the daemon's own jobs, as callers see it, and what they may ask of one.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "forecast/promise_tally.h"
#include "live/job/identity.h"
#include "live/job/job_spec.h"
#include "model/cluster.h"
#include "model/placement.h"

namespace trainyard {

struct JobOutlook {
  JobNumber job = 0;
  bool waits = false;  // it has no GPUs: `start` is when it next gets some
  TimeBand drawn;      // the start, by the draws alone
  TimeBand start;      // with how promises of the past missed; never: beyond the horizon
  TimeBand end;        // by the draws
};

/// A job on a machine, in the median draw.
struct OutlookSegment {
  JobNumber job = 0;
  MachineId machine = kNoMachine;
  Time from, to;
};

struct LiveOutlook {
  Time made_at = Time::never();  // never: none was made yet
  Duration horizon = {}, took = {};
  std::size_t draws = 0;
  std::string policy;  // under which it was made
  std::vector<JobOutlook> jobs = {};
  std::vector<OutlookSegment> segments = {};
  std::shared_ptr<const Cluster> cluster = std::make_shared<Cluster>();
  PromiseTallies record = {};  // of promises at submission

  /// Null if it says nothing of the job.
  [[nodiscard]] const JobOutlook* find(JobNumber job) const;
};

/// What is to be supposed.
struct OutlookQuestion {
  std::optional<JobSpec> job;        // one more, whose number is 0 in the answer
  Identity owner;                    // its
  std::vector<std::string> without;  // machines that take no more jobs
  std::string policy;                // another, with its settings; empty: the present one
  std::vector<std::string> settings;
};

}  // namespace trainyard
