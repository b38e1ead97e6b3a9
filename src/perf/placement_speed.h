// How fast a job runs where: the one question that the yard has about it.
#pragma once

#include "model/job.h"
#include "model/placement.h"

namespace trainyard {

class PlacementSpeed {
 public:
  virtual ~PlacementSpeed() = default;
  /// How much longer an iteration takes there than the job's duration says: at least 1.
  [[nodiscard]] virtual double slowdown(const Job& job, const Placement& placement) const = 0;
  /// The same for a placement that is typical of those that span this tier.
  [[nodiscard]] virtual double slowdown_at(const Job& job, std::size_t tier) const = 0;
};

}  // namespace trainyard
