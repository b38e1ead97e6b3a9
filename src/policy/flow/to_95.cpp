// Shortest time to 95% of the final accuracy first.
//
// Of a job with a curve (flow/learning.h): the time, alone on the network, until it has 95% of the
// accuracy that it will have at its end, which is when the work is done that the policy believes it
// has left. One that is past that joins the last class. A job without a curve is expected to need
// as long as it has run, so that new jobs go first and those that tell nothing are served by least
// attained time.
//
// Example: a job that has 95% in a minute goes before one that does in an hour, whatever each gains
// by the minute; JPAS would put the one first that gains more just now.
#include "policy/flow/learning_flow.h"
#include "policy/members.h"

namespace trainyard {
namespace {

constexpr double kNearlyConverged = 0.95;

class ShortestTo95 final : public LearningFlow {
 public:
  ShortestTo95(const Params& params, PolicyContext& context)
      : LearningFlow(params, context), estimates_(context.estimates()) {}

 private:
  [[nodiscard]] Rank rank(JobId job) const override {
    const auto prospect = learning().of(job);
    if (!prospect) return {.key = yard_.attained(job).seconds(), .job = job};
    const double left = estimates_.remaining(job).seconds() * learning().time_per_work(job);
    const double seconds = prospect->seconds_to(kNearlyConverged, left);
    return {.is_parked = seconds == 0, .key = seconds, .job = job};
  }
  [[nodiscard]] std::string why_rank(JobId job) const override {
    const auto prospect = learning().of(job);
    if (!prospect)
      return fmt::format("no learning curve yet; it has run for {}", format(yard_.attained(job)));
    const double left = estimates_.remaining(job).seconds() * learning().time_per_work(job);
    const double seconds = prospect->seconds_to(kNearlyConverged, left);
    return seconds == 0 ? "it is past 95% of its final accuracy"
                        : "95% of its final accuracy is " + ahead(seconds) + " away";
  }

  const Estimator& estimates_;
};

}  // namespace

Member<FlowStage> flow_to_95() {
  return {
      {"to-95", "the bytes of the job that is soonest at 95% of its final accuracy go first",
       "ours: shortest remaining time, of the part that JPAS wants to be short", learning_params()},
      make_member<FlowStage, ShortestTo95>};
}

}  // namespace trainyard
