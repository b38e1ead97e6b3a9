// What a person wants to know about a workload before trusting it, and how far two workloads are
// apart.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/cluster.h"
#include "model/workload.h"

namespace trainyard {

/// Jobs that ask for the same number of GPUs.
struct DemandShare {
  std::int32_t gpus = 0;
  std::size_t jobs = 0;
  double gpu_s = 0;
};

/// Jobs that last at least `from` and less than `to`.
struct DurationBin {
  Duration from, to;
  std::size_t jobs = 0;
};

/// GPUs that would be held if every job started when it was submitted, from the first submission to
/// the last end. A cluster below the mean can never keep up.
struct RunningDemand {
  std::int64_t peak_gpus = 0;
  Time peak_at;
  double mean_gpus = 0;
};

struct ClusterFit {
  std::string cluster;  // in words
  std::int32_t gpus = 0;
  std::optional<double> offered_load;  // GPU time over GPUs x submission span; none for one instant
  std::size_t too_large = 0;           // jobs that could never run
  bool is_too_short = false;           // much of the GPU time comes after the last submission, so
                                       // that the offered load is not what the cluster sees
};

struct WorkloadInfo {
  std::string source;
  std::size_t jobs = 0, trial = 0, batch = 0;
  std::size_t users = 0, models = 0, kinds = 0;  // that jobs really have
  std::size_t elastic = 0;                       // jobs that can have other sizes
  std::size_t measured = 0;                      // kinds of GPU that durations hold for
  Time first, last;                              // submissions
  double gpu_s = 0;
  struct {
    double mean_s = 0, p50_s = 0, p90_s = 0, p99_s = 0, max_s = 0;
  } duration;
  std::vector<DemandShare> demands;  // by GPUs
  std::vector<DurationBin> bins;     // from the first that has jobs to the last
  RunningDemand running;
  std::optional<ClusterFit> fit;
};

/// `cluster` may be null: then nothing is said about the load.
WorkloadInfo inspect(const Workload& workload, const Cluster* cluster);

/// Kolmogorov-Smirnov distances: the largest gap between the two distribution functions, 0 for the
/// same and 1 for nothing in common.
struct Distance {
  std::string what;
  std::size_t jobs_a = 0, jobs_b = 0;
  double ks = 0;
};

/// Of durations, GPUs and times between submissions; then of the durations for each class of
/// demands (1, 2, 3-4, 5-8, more than 8 GPUs) that both have.
std::vector<Distance> distances(const Workload& a, const Workload& b);

}  // namespace trainyard
