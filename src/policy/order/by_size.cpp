// Smallest first, by what is known of a job's size: its whole estimate (sjf), what is left of it
// (srtf), or what is left times the GPUs that it takes (srsf). With exact estimates srtf has the
// least mean completion time on one machine when pausing is free; srsf is the same idea in GPU
// time.
#include "policy/members.h"

namespace trainyard {
namespace {

class ShortestJob final : public OrderStage {
 public:
  ShortestJob(const Params& params, PolicyContext& context) : OrderStage(params, context) {
    context.heed_declared_times();
  }
  [[nodiscard]] std::int64_t key(JobId job) const override { return yard_.estimate(job).us; }
};

class ByEstimate : public OrderStage {
 public:
  ByEstimate(const Params& params, PolicyContext& context)
      : OrderStage(params, context), estimates_(context.estimates()) {}

 protected:
  [[nodiscard]] Duration remaining(JobId job) const { return estimates_.remaining(job); }

 private:
  const Estimator& estimates_;
};

class ShortestRemainingTime final : public ByEstimate {
 public:
  using ByEstimate::ByEstimate;
  [[nodiscard]] std::int64_t key(JobId job) const override { return remaining(job).us; }
};

class ShortestRemainingService final : public ByEstimate {
 public:
  using ByEstimate::ByEstimate;
  [[nodiscard]] std::int64_t key(JobId job) const override {
    return (remaining(job) * yard_.job(job).gpus()).us;
  }
};

}  // namespace

Member<OrderStage> order_sjf() {
  return {{"sjf", "shortest job first, by the whole estimate", "standard"},
          make_member<OrderStage, ShortestJob>};
}

Member<OrderStage> order_srtf() {
  return {{"srtf", "shortest remaining time first, by the estimate", "standard"},
          make_member<OrderStage, ShortestRemainingTime>};
}

Member<OrderStage> order_srsf() {
  return {{"srsf", "shortest remaining service (time x GPUs) first, by the estimate",
           "Gu et al., Tiresias, NSDI 2019, as a baseline"},
          make_member<OrderStage, ShortestRemainingService>};
}

}  // namespace trainyard
