// Smallest first, by what is known of a job's size: its whole estimate (sjf), what is left of it
// (srtf), what is left times the GPUs that it takes (srsf), or what is left times its width over
// its worth (smith). With exact estimates srtf has the least mean completion time on one machine
// when pausing is free; srsf is the same idea in GPU time. Smith's rule weighs: of two jobs of one
// GPU with 10 min and 100 min left, the second goes first if its seconds are worth 20 times as
// much.
#include <algorithm>

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

class SmithsRule final : public ByEstimate {
 public:
  SmithsRule(const Params& params, PolicyContext& context)
      : ByEstimate(params, context), worth_(context.worth()) {}
  [[nodiscard]] std::int64_t key(JobId job) const override {
    const double service = static_cast<double>(remaining(job).us) * worth_.width(job);
    return static_cast<std::int64_t>(std::min(service / worth_.unless_overdue(job), kLast));
  }

 private:
  static constexpr double kLast = 9e18;  // of what a key can be

  const Worth& worth_;
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

Member<OrderStage> order_smith() {
  return {{"smith",
           "the job first whose completion is worth most for the service that it still takes "
           "(time x GPUs, up to a 32nd of the cluster)",
           "weighted shortest processing time: Smith, Naval Research Logistics 1956; the width of "
           "gangs is ours"},
          make_member<OrderStage, SmithsRule>};
}

}  // namespace trainyard
