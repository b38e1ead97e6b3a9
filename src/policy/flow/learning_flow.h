// What the orders that go by learning share: they hear what jobs tell, and may be given the true
// curves instead.
#pragma once

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "policy/flow/learning.h"
#include "policy/flow/ranked.h"

namespace trainyard {

class LearningFlow : public RankedFlow {
 public:
  LearningFlow(const Params& params, PolicyContext& context)
      : RankedFlow(params, context), learning_(yard_, params.choice("curves") == "true") {}

  void on_phase(JobId job, Phase from, Phase to) final {
    learning_.on_phase(job, to);
    RankedFlow::on_phase(job, from, to);
  }
  void on_learnt(JobId job, const LearningPoint& point) final { learning_.on_learnt(job, point); }

 protected:
  [[nodiscard]] const Learning& learning() const { return learning_; }

 private:
  Learning learning_;
};

/// So many seconds, for people: "2m 10s"; "far" where it is out of sight.
inline std::string ahead(double seconds) {
  const auto time = duration_from_seconds(std::max(1.0, std::round(seconds)));
  return time ? format(*time) : "far";
}

/// The parameters that all of them have, and those of one.
inline std::vector<ParamSpec> learning_params(std::vector<ParamSpec> more = {}) {
  more.insert(more.begin(), {"curves",
                             ParamType::choice,
                             "fitted",
                             "by the points that jobs tell, or the true ones of the workload",
                             {"fitted", "true"}});
  return ranked_params(std::move(more));
}

}  // namespace trainyard
