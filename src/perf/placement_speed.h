// How fast a job runs where, as the engine knows it: the one question that the yard and its
// policies have about it.
#pragma once

#include "model/job.h"
#include "model/placement.h"
#include "perf/rate.h"

namespace trainyard {

class PlacementSpeed {
 public:
  virtual ~PlacementSpeed() = default;
  /// Of a job that would start there now, with however many workers. Rate 1 is that of
  /// job.workers workers on GPUs of the kind job.measured_on.
  [[nodiscard]] virtual Rate rate(const Job& job, const Placement& placement) const = 0;
  /// The same for a placement of job.workers workers that is typical of those that span this tier.
  [[nodiscard]] virtual Rate rate_at(const Job& job, std::size_t tier) const = 0;
};

}  // namespace trainyard
