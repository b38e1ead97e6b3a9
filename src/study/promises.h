// How good forecasts are in a simulation: while it runs, jobs that wait are promised a start, when
// they are submitted and at each full hour, by what a daemon would know then; and what comes is
// compared with that. In a study the line of a policy that begins with "forecast:" has the rest of
// it as its policy, and these numbers as metrics, besides jobs and finished:
//
//   LIMIT.promises       promises of jobs that were expected (p50) to wait on for up to LIMIT, and
//                        longer than the limit before: 10m, 1h, 3h, 1d; all: the four together
//   LIMIT.held           the part of them whose start was within p10 to p90
//   LIMIT.error_s        the median of |p50 - start|
//   LIMIT.limits_error_s the same where every job takes what it declares and no other comes, as
//                        Slurm's --start has it, of the same promises
//   LIMIT.drawn_held     held by the draws alone, without the record of past promises
//   beyond               promises that no start within a day could be told for
//
// A job that starts as it comes is promised nothing. Where there are no promises the others are 0.
#pragma once

#include <string>
#include <string_view>

#include "model/cluster.h"
#include "model/workload.h"
#include "policy/registry.h"
#include "sim/simulation.h"
#include "study/study.h"

namespace trainyard {

constexpr std::string_view kForecastLine = "forecast:";

[[nodiscard]] inline bool names_forecast(std::string_view line) {
  return line.starts_with(kForecastLine);
}
/// The policy that such a line, or any other, runs.
[[nodiscard]] inline std::string policy_of_line(std::string_view line) {
  return std::string(names_forecast(line) ? line.substr(kForecastLine.size()) : line);
}

struct PromiseOptions {
  std::size_t draws = 16;
  Duration every = hours(1);
  Duration horizon = days(2);
  Duration learn_from = days(7);  // arrivals
};

Expected<Metrics> judge_promises(const Cluster& cluster, const Workload& workload,
                                 const PolicySpec& policy, const SimOptions& simulation,
                                 const PromiseOptions& options = {});

}  // namespace trainyard
