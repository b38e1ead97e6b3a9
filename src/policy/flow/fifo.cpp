// First submitted, first: a class for each of the oldest jobs.
#include "policy/flow/ranked.h"
#include "policy/members.h"

namespace trainyard {
namespace {

class FirstSubmitted final : public RankedFlow {
 public:
  using RankedFlow::RankedFlow;

 private:
  [[nodiscard]] Rank rank(JobId job) const override {
    return {.key = static_cast<double>(index(job)), .job = job};
  }
  [[nodiscard]] std::string why_rank(JobId job) const override {
    return fmt::format("it was submitted {} ago", format(yard_.now() - yard_.job(job).submit));
  }
  [[nodiscard]] bool has_drift() const override { return false; }
};

}  // namespace

Member<FlowStage> flow_fifo() {
  return {{"fifo", "the bytes of the job that was submitted first go first", "standard",
           ranked_params()},
          make_member<FlowStage, FirstSubmitted>};
}

}  // namespace trainyard
