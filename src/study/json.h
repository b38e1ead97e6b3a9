// Results as JSON, for scripts. docs/output.md tells each field; docs/schema/ has the shape, which
// the unit test holds this to.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "sim/result.h"
#include "study/bound.h"
#include "study/compare.h"

namespace trainyard {

nlohmann::ordered_json to_json(const Result& result);

/// {mean, low, high}.
nlohmann::ordered_json to_json(const Interval& interval);

struct Number {
  std::string path;  // "jct_s.mean"
  double value;
};

/// Every number of a run's JSON but its seed, in order.
std::vector<Number> numbers_of(const nlohmann::ordered_json& run);

/// The bound of the jobs that this seed makes.
nlohmann::ordered_json to_json(const LowerBound& bound, std::uint64_t seed);

/// {workload, cluster, seeds, bounds: one object a seed, intervals: by metric}.
nlohmann::ordered_json to_json(const BoundRuns& runs);

/// {workload, cluster, seeds, results: one object a run, intervals: by policy and metric}, and
/// bounds where they were asked for.
nlohmann::ordered_json to_json(const Comparison& comparison);

/// Indented, with a newline at the end; bytes that are not UTF-8 (from a trace's names) replaced.
std::string to_text(const nlohmann::ordered_json& json);

}  // namespace trainyard
