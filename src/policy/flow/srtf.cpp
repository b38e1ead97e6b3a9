// Least remaining first: the job that has the least work left sends first, by what the policy
// believes of it.
#include "policy/flow/ranked.h"
#include "policy/members.h"

namespace trainyard {
namespace {

class LeastRemaining final : public RankedFlow {
 public:
  LeastRemaining(const Params& params, PolicyContext& context)
      : RankedFlow(params, context), estimates_(context.estimates()) {}

 private:
  [[nodiscard]] Rank rank(JobId job) const override {
    return {.key = static_cast<double>(estimates_.remaining(job).us), .job = job};
  }
  [[nodiscard]] std::string why_rank(JobId job) const override {
    return fmt::format("it is expected to need {} more", format(estimates_.remaining(job)));
  }

  const Estimator& estimates_;
};

}  // namespace

Member<FlowStage> flow_srtf() {
  return {{"srtf", "the bytes of the job that has the least work left go first", "standard",
           ranked_params()},
          make_member<FlowStage, LeastRemaining>};
}

}  // namespace trainyard
