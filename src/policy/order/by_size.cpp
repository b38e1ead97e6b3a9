// Smallest first, by what is known of a job's size: its whole estimate (sjf), what is left of it
// (srtf), or what is left times the GPUs that it takes (srsf). With exact estimates srtf has the
// least mean completion time on one machine when pausing is free; srsf is the same idea in GPU
// time.
#include "policy/members.h"

namespace trainyard {
namespace {

class ShortestJob final : public OrderStage {
 public:
  bool use_estimates(const Estimator& /*estimates*/) override { return true; }
  [[nodiscard]] std::int64_t key(const Yard& yard, JobId job) const override {
    return yard.estimate(job).us;
  }
};

class ByEstimate : public OrderStage {
 public:
  bool use_estimates(const Estimator& estimates) override {
    estimates_ = &estimates;
    return estimates.is_declared();
  }

 protected:
  [[nodiscard]] Duration remaining(const Yard& yard, JobId job) const {
    return estimates_->remaining(yard, job);
  }

 private:
  const Estimator* estimates_ = &declared_estimates();
};

class ShortestRemainingTime final : public ByEstimate {
 public:
  [[nodiscard]] std::int64_t key(const Yard& yard, JobId job) const override {
    return remaining(yard, job).us;
  }
};

class ShortestRemainingService final : public ByEstimate {
 public:
  [[nodiscard]] std::int64_t key(const Yard& yard, JobId job) const override {
    return (remaining(yard, job) * yard.job(job).gpus()).us;
  }
};

template <class Stage>
std::unique_ptr<OrderStage> make(const Params&) {
  return std::make_unique<Stage>();
}

}  // namespace

Member<OrderStage> order_sjf() {
  return {{"sjf", "shortest job first, by the whole estimate", "standard"}, make<ShortestJob>};
}

Member<OrderStage> order_srtf() {
  return {{"srtf", "shortest remaining time first, by the estimate", "standard"},
          make<ShortestRemainingTime>};
}

Member<OrderStage> order_srsf() {
  return {{"srsf", "shortest remaining service (time x GPUs) first, by the estimate",
           "Gu et al., Tiresias, NSDI 2019, as a baseline"},
          make<ShortestRemainingService>};
}

}  // namespace trainyard
