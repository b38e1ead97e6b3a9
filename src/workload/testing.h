// Workloads for the unit tests of workload/.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "model/cluster.h"
#include "workload/generate/generate.h"

namespace trainyard {

inline Expected<Workload> try_generate(std::string_view spec, const char* where = "16x8xV100",
                                       std::uint64_t seed = 1) {
  return generate(spec, parse_cluster_shorthand(where).value(), seed);
}

/// Empty when it fails, and the test has failed then.
inline Workload generated(std::string_view spec, const char* where = "16x8xV100",
                          std::uint64_t seed = 1) {
  auto workload = try_generate(spec, where, seed);
  EXPECT_TRUE(workload) << workload.error().message;
  return workload ? *std::move(workload) : Workload{};
}

inline Job job_of(std::int64_t submit_s, std::int64_t duration_s, std::int32_t gpus) {
  Job job;
  job.submit = Time{} + seconds(submit_s);
  job.duration = job.estimate = seconds(duration_s);
  job.workers = job.min_workers = job.max_workers = gpus;
  return job;
}

/// Jobs whose figures can be worked out by hand.
inline Workload three_jobs() {
  Workload workload;
  workload.source = "by hand";
  workload.users.add("a");
  workload.users.add("unused");
  workload.jobs = {job_of(0, 100, 1), job_of(50, 100, 4), job_of(100, 20, 2)};
  workload.names = {"x", "y", "z"};
  workload.jobs[0].job_class = JobClass::trial;
  return workload;
}

}  // namespace trainyard
