// Milestone by milestone: first the jobs that have yet to reach 90% of their final accuracy, then
// those on their way to 95%, then all others.
//
// The fit (flow/learning.h) says how long, alone on the network, a job needs to either. The final
// accuracy is that when the work is done which the policy believes the job has left.
//
//   before 90%   the soonest there first. A job without a curve is expected to need as long as it
//                has had, so that new jobs go first and silent ones by least attained time.
//   before 95%   the least time to 95% first, counted from the job's beginning: between the two the
//                curve is so flat that noise moves the milestone by more than what is left to it,
//                and a job that only seems to be here is a young one.
//   past 95%     the one that has told the fewest steps first, for the same reason, and without
//                joining the last class. Steps told, not time: two that are equally far must not
//                take turns, which makes both late.
//
// Example: of three jobs that have run for 1, 10 and 20 minutes and are a minute from 90%, two from
// 95% and past both, the second goes before the third, and the first before either. A fourth, five
// minutes from 90%, goes between the first and the second: a milestone is never put off for a later
// one, and that is what flow=to-95 does.
#include "policy/flow/learning_flow.h"
#include "policy/members.h"

namespace trainyard {
namespace {

class Milestones final : public LearningFlow {
 public:
  Milestones(const Params& params, PolicyContext& context)
      : LearningFlow(params, context), estimates_(context.estimates()) {}

 private:
  enum Tier { before_90, before_95, past_95 };

  [[nodiscard]] Rank rank(JobId job) const override {
    const double pace = learning().time_per_work(job);
    const double had = yard_.work_done(job).seconds() * pace;
    const double left = estimates_.remaining(job).seconds() * pace;
    const auto ranked = [job](Tier tier, double key) {
      return Rank{.tier = tier, .key = key, .job = job};
    };
    const auto prospect = learning().of(job);
    if (!prospect) return ranked(before_90, had);
    if (const double to_90 = prospect->seconds_to(0.90, left); to_90 > 0)
      return ranked(before_90, to_90);
    if (const double to_95 = prospect->seconds_to(0.95, left); to_95 > 0)
      return ranked(before_95, had + to_95);
    return ranked(past_95, learning().last_step(job));
  }

  [[nodiscard]] std::string why_rank(JobId job) const override {
    const double pace = learning().time_per_work(job);
    const double left = estimates_.remaining(job).seconds() * pace;
    const auto prospect = learning().of(job);
    if (!prospect)
      return fmt::format("no learning curve yet; it has done {} of its work",
                         format(yard_.work_done(job)));
    if (const double to_90 = prospect->seconds_to(0.90, left); to_90 > 0)
      return "90% of its final accuracy is " + ahead(to_90) + " away";
    if (const double to_95 = prospect->seconds_to(0.95, left); to_95 > 0)
      return "past 90% of its final accuracy; 95% is " + ahead(to_95) + " away";
    return "it is past 95% of its final accuracy";
  }

  const Estimator& estimates_;
};

}  // namespace

Member<FlowStage> flow_milestones() {
  return {{"milestones",
           "the bytes of jobs before 90% of their final accuracy go first, then of those before "
           "95%; the soonest first",
           "ours: shortest remaining time, milestone by milestone", learning_params()},
          make_member<FlowStage, Milestones>};
}

}  // namespace trainyard
