// How fast a job runs where, as the engine knows it: the one question that the yard and its
// policies have about it.
#pragma once

#include <span>

#include "model/job.h"
#include "model/placement.h"
#include "perf/model_profile.h"
#include "perf/rate.h"

namespace trainyard {

/// What a job's rate is made of, for those who weigh many sizes and kinds of GPU at once.
struct GangSpeed {
  double work_s = 1;   // what of the job's duration an iteration does
  double unit_s = 1;   // computing of one, by a single worker of power 1
  double overlap = 0;  // the share of computing that can hide communication
  /// Of an iteration, by the number of workers, when these stand as close together as they can;
  /// empty: none. It holds for as long as the speed itself.
  std::span<const double> communication_s = {};
};

/// An iteration of a job on a placement.
struct Iteration {
  const ModelProfile* model = nullptr;  // null: not known, and nothing else is
  double compute_s = 0;
  double work_s = 0;  // what of the job's duration is done by it
};

class PlacementSpeed {
 public:
  virtual ~PlacementSpeed() = default;
  /// Of a job that would start there now, with however many workers. Rate 1 is that of
  /// job.workers workers on GPUs of the kind job.measured_on.
  [[nodiscard]] virtual Rate rate(const Job& job, const Placement& placement) const = 0;
  /// The same for a placement of job.workers workers that is typical of those that span this tier.
  [[nodiscard]] virtual Rate rate_at(const Job& job, std::size_t tier) const = 0;

  [[nodiscard]] virtual GangSpeed gang(const Job& job) const {
    return {.unit_s = static_cast<double>(job.workers)};
  }
  /// Of a job whose traffic meets that of others on its way. Without a model where jobs do not
  /// disturb each other, or nobody knows what this one sends.
  [[nodiscard]] virtual Iteration on_shared_links(const Job& /*job*/,
                                                  const Placement& /*placement*/) const {
    return {};
  }
  /// How fast one worker of the job computes on this kind of GPU; 1 where its duration holds. The
  /// powers of an elastic job's workers add up; a rigid one goes as its slowest.
  [[nodiscard]] virtual double power(const Job& /*job*/, KindId /*kind*/) const { return 1; }
};

}  // namespace trainyard
