// What jobs declare of their whole work, or is believed of it since; with an error e every job's is
// multiplied by its own factor from [1 - e, 1 + e], drawn once when it is submitted.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/grow.h"
#include "base/random.h"
#include "yard/yard.h"

namespace trainyard {

class Declarations {
 public:
  Declarations(const Yard& yard, double error, std::uint64_t seed)
      : yard_(yard), error_(error), random_(seed, kStream) {}

  /// Jobs are submitted in the order of their numbers.
  void on_submission(JobId job) {
    if (error_ == 0) return;
    grow_to(factors_, index(job), yard_.workload().jobs.size());
    factors_[index(job)] = std::max(random_.uniform(1 - error_, 1 + error_), 0.0);
  }

  [[nodiscard]] Duration of(JobId job) const {
    if (error_ == 0) return std::max(yard_.estimate(job), microseconds(1));
    const double us = static_cast<double>(yard_.estimate(job).us) * factors_[index(job)];
    return Duration{std::llround(std::clamp(us, 1.0, static_cast<double>(kLongestDuration.us)))};
  }

 private:
  static constexpr std::uint64_t kStream = 102;

  const Yard& yard_;
  double error_;
  Random random_;
  std::vector<double> factors_;  // by job
};

}  // namespace trainyard
