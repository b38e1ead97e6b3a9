// Trial jobs before batch jobs, each class first come, first served, or shortest remaining time
// first. Who acts as a trial job is told by TrialRights. A job that comes back after a pause or a
// failure re-enters where `reentry` says: before the other batch jobs, where its submission stands,
// or behind everybody.
#include "policy/members.h"

namespace trainyard {
namespace {

class TrialFirst final : public OrderStage {
 public:
  TrialFirst(const Params& params, PolicyContext& context)
      : OrderStage(params, context),
        rights_(context.rights()),
        estimates_(params.choice("within") == "remaining" ? &context.estimates() : nullptr),
        to_head_(params.choice("reentry") == "head"),
        to_tail_(params.choice("reentry") == "tail") {}

  [[nodiscard]] std::int64_t key(JobId job) const override {
    const JobState& state = yard_.state(job);
    const std::int64_t within =
        estimates_ != nullptr ? estimates_->remaining(job).us : yard_.job(job).submit.us;
    const bool comes_back = state.first_start != Time::never();
    if (rights_.acts_as_trial(job)) return within - 2 * kRank;
    if (comes_back && to_head_) return within - kRank;
    return comes_back && to_tail_ && estimates_ == nullptr ? waiting_since(job).us : within;
  }

 private:
  static constexpr std::int64_t kRank = std::int64_t{1}
                                        << 60;  // no submission is so late, no job so long

  const TrialRights& rights_;
  const Estimator* estimates_;  // null: within a class, first come, first served
  bool to_head_, to_tail_;
};

}  // namespace

Member<OrderStage> order_trial_first() {
  return {
      {"trial-first",
       "trial jobs before batch jobs, each first come, first served",
       "FitGpp (Yabuuchi et al. 2019), by its idea; what the order is in detail is ours",
       {{"reentry",
         ParamType::choice,
         "head",
         "where a batch job comes back to: before those that never ran, by its submission, or last",
         {"head", "submission", "tail"},
         "head is the paper's, as others describe it; the others are ours"},
        {"within",
         ParamType::choice,
         "submission",
         "within a class: first come, first served, or the shortest remaining time first, where "
         "tail is as submission",
         {"submission", "remaining"},
         "remaining is ours"}}},
      make_member<OrderStage, TrialFirst>};
}

}  // namespace trainyard
