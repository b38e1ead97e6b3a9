// What a run measured. Times in seconds, as they are printed; see docs/output.md for each field.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/stats.h"
#include "base/time.h"

namespace trainyard {

/// Over the jobs that finished.
struct JobTimes {
  std::size_t jobs = 0;
  Summary jct_s;     // from submission to completion
  Summary wait_s;    // in the queue: before the first start and after every pause
  Summary slowdown;  // JCT over the job's duration: 1 is as if alone, without a pause
};

/// How many GPUs were held over time, as the mean over equal intervals.
struct UtilizationSeries {
  Duration interval;
  std::vector<double> share;  // of all GPUs, 0 to 1
};

/// When one job had learnt how much, from its submission.
struct LearningOfJob {
  JobId job = kNoJob;
  double to_90_s = 0, to_95_s = 0;
};

/// Of the jobs whose learning curve is known.
struct LearningResult {
  std::size_t jobs = 0;               // that are done
  Summary to_90_s, to_95_s;           // from submission to that part of the converged accuracy
  Summary late_slowdown;              // time from 95% to the end over what that takes alone
  Duration interval;                  // between two of these:
  std::vector<double> accuracy = {};  // mean over the jobs, of the converged, since submission
  std::vector<LearningOfJob> by_job = {};
};

/// Of machines that failed.
struct FailureSum {
  std::uint64_t machines = 0, runs = 0;  // how often one failed, and the runs that this ended
  double lost_gpu_s = 0;                 // GPU time of work in them that was not saved
};

struct Result {
  std::string policy;
  std::uint64_t seed = 0;
  std::size_t jobs = 0, finished = 0;
  std::string pause_costs;  // "given", "modelled" or "free"
  double makespan_s = 0;    // from the first submission to the last completion
  JobTimes all, trial, batch;
  std::uint64_t preemptions = 0;
  std::size_t paused_jobs = 0;  // those that were paused at least once
  Summary away_s;               // of every pause: from being told to leave to running again
  struct {
    double expected = 0, actual = 0;
  } pause_gain_s;         // of completion time, by the pauses of policies that reckon it
  double lost_gpu_s = 0;  // GPU time held without lasting progress: load, grace, save,
                          // checkpoints, work done again after a failure
  FailureSum failures;    // its lost_gpu_s is a part of that
  struct TierStarts {
    std::string tier;
    std::uint64_t starts = 0;
  };
  std::vector<TierStarts> placements;  // by tier of the network, innermost first
  double slowed_gpu_s = 0;             // GPU time by which placements and machines made progress
                                       // take longer; < 0: less long
  double slowed_mean_s = 0;            // the same as time, mean over the jobs that finished
  double gpu_utilization = 0;          // GPU time held by jobs over GPUs x makespan
  double fairness_jain = 0;            // Jain's index over the jobs' 1 / slowdown
  std::uint64_t events = 0, decisions = 0;
  struct {
    double p50 = 0, p99 = 0, max = 0;
  } decision_us;
  double wall_s = 0, events_per_s = 0, jobs_per_s = 0;
  UtilizationSeries utilization;
  LearningResult learning;
};

}  // namespace trainyard
