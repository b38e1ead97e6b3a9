// Least attained service first: the job that has had the least GPU time sends first. It needs
// neither estimates nor curves, and comes near to an order by learning, as jobs learn most when
// they are young.
#include "policy/flow/ranked.h"
#include "policy/members.h"

namespace trainyard {
namespace {

class LeastAttained final : public RankedFlow {
 public:
  using RankedFlow::RankedFlow;

 private:
  [[nodiscard]] Rank rank(JobId job) const override {
    return {.key = static_cast<double>(yard_.attained_service(job)), .job = job};
  }
  [[nodiscard]] std::string why_rank(JobId job) const override {
    return fmt::format("it has run for {}", format(yard_.attained(job)));
  }
};

}  // namespace

Member<FlowStage> flow_las() {
  return {{"las", "the bytes of the job that has had the least GPU time go first", "standard",
           ranked_params()},
          make_member<FlowStage, LeastAttained>};
}

}  // namespace trainyard
