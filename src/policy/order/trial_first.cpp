// Trial jobs before batch jobs, each class first come, first served, or shortest remaining time
// first. Who acts as a trial job is told by TrialRights. A job that comes back after a pause or a
// failure re-enters where `reentry` says: before the other batch jobs, where its submission stands,
// or behind everybody.
#include "policy/members.h"

namespace trainyard {
namespace {

class TrialFirst final : public OrderStage {
 public:
  explicit TrialFirst(const Params& params)
      : to_head_(params.choice("reentry") == "head"),
        to_tail_(params.choice("reentry") == "tail"),
        by_remaining_(params.choice("within") == "remaining") {}

  bool use(const TrialRights& rights) override {
    rights_ = &rights;
    return true;
  }
  bool use_estimates(const Estimator& estimates) override {
    estimates_ = &estimates;
    return by_remaining_ && estimates.is_declared();
  }

  [[nodiscard]] std::int64_t key(const Yard& yard, JobId job) const override {
    const JobState& state = yard.state(job);
    const std::int64_t within =
        by_remaining_ ? estimates_->remaining(yard, job).us : yard.job(job).submit.us;
    const bool comes_back = state.first_start != Time::never();
    if (rights_->acts_as_trial(job)) return within - 2 * kRank;
    if (comes_back && to_head_) return within - kRank;
    return comes_back && to_tail_ && !by_remaining_ ? state.since.us : within;
  }

 private:
  static constexpr std::int64_t kRank = std::int64_t{1}
                                        << 60;  // no submission is so late, no job so long

  const TrialRights* rights_ = nullptr;
  const Estimator* estimates_ = &declared_estimates();
  bool to_head_, to_tail_, by_remaining_;
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
      [](const Params& params) -> std::unique_ptr<OrderStage> {
        return std::make_unique<TrialFirst>(params);
      }};
}

}  // namespace trainyard
