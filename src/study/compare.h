// The same workload under several policies, over several seeds, in parallel. What comes out depends
// on the policies and seeds alone, never on the number of threads or on which run ended first.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "bound/lower_bound.h"
#include "sim/result.h"
#include "study/distribution.h"

namespace trainyard {

/// Over the jobs that finished and count (model/counted.h); as in JobTimes.
struct JobDistributions {
  Distribution jct_s, wait_s, slowdown;
};

/// Jobs by the GPUs that they ask for: more than the group before, and at most so many.
struct SizeGroup {
  std::int32_t most_gpus;
  std::string_view name;
};
constexpr std::array<SizeGroup, 5> kSizeGroups{
    {{1, "1 GPU"},
     {2, "2 GPUs"},
     {4, "3 to 4"},
     {8, "5 to 8"},
     {std::numeric_limits<std::int32_t>::max(), "more than 8"}}};

struct Run {
  Result result;
  JobDistributions all, trial, batch;
  std::array<JobDistributions, kSizeGroups.size()> by_size = {};
};

struct PolicyRuns {
  std::string policy;
  std::vector<Run> runs;  // one a seed, in the order of the seeds
};

struct Comparison {
  std::string workload, cluster;  // what was run, for people
  std::string command;            // that repeats it; empty: none is shown
  std::vector<std::uint64_t> seeds;
  std::vector<PolicyRuns> policies;     // in the order asked for
  std::vector<LowerBound> bounds = {};  // one a seed; empty: not asked for
};

/// Simulates one policy with one seed. Called from several threads at once.
using Simulate = std::function<Expected<Run>(const std::string& policy, std::uint64_t seed)>;

struct CompareOptions {
  std::vector<std::string> policies;          // no two the same
  std::vector<std::uint64_t> seeds;           // likewise
  int threads = 0;                            // runs at once; 0: one a core
  std::function<void()> on_run_done = [] {};  // called from several threads at once
};

/// Runs every policy with every seed. When runs fail, the error is that of the first of them in
/// order (policies, then seeds), and runs after it are not begun.
Expected<std::vector<PolicyRuns>> run_all(const CompareOptions& options, const Simulate& simulate);

/// The policy's value of one metric with each seed, in their order.
std::vector<double> over_seeds(const PolicyRuns& policy,
                               const std::function<double(const Result&)>& metric);

/// Whether there were both trial and batch jobs, so that to tell them apart says something.
bool has_both_classes(const Comparison& comparison);

}  // namespace trainyard
