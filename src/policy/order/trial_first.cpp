// Trial jobs before batch jobs, each class first come, first served, or shortest remaining time
// first. Who acts as a trial job is told by TrialRights. A job that comes back after a pause or a
// failure re-enters where `reentry` says: before the other batch jobs, where its submission stands,
// or behind everybody.
#include <utility>

#include "base/grow.h"
#include "base/sorted_list.h"
#include "policy/members.h"

namespace trainyard {
namespace {

class TrialFirst final : public OrderStage {
 public:
  TrialFirst(const Params& params, PolicyContext& context)
      : OrderStage(params, context),
        rights_(context.rights()),
        estimates_(params.choice("within") == "remaining" ? &context.estimates() : nullptr),
        critical_(params.choice("critical") == "first" ? &context.critical_jobs() : nullptr),
        to_head_(params.choice("reentry") == "head"),
        to_tail_(params.choice("reentry") == "tail") {}

  [[nodiscard]] std::int64_t key(JobId job) const override {
    const JobState& state = yard_.state(job);
    const std::int64_t within =
        estimates_ != nullptr ? estimates_->remaining(job).us : yard_.job(job).submit.us;
    const bool comes_back = state.first_start != Time::never();
    if (rights_.acts_as_trial(job)) return within - 2 * kRank;
    if (is_critical(job)) return within - kRank;
    if (comes_back && to_head_) return within - kRank;
    return comes_back && to_tail_ && estimates_ == nullptr ? waiting_since(job).us : within;
  }
  void on_phase(JobId job, Phase from, Phase to) override {
    if (critical_ == nullptr) return;
    if (from == Phase::queued) by_left_.erase({known_[index(job)].left, job});
    if (to != Phase::queued) return;
    grow_to(known_, index(job), yard_.workload().jobs.size());
    known_[index(job)] = {critical_->left(job), false};
    by_left_.insert({known_[index(job)].left, job});
  }
  void refresh(std::vector<JobId>& changed) override {
    if (critical_ == nullptr) return;
    forget_critical(changed);
    found_.clear();
    const Duration least = critical_->least_left();
    by_left_.each_from({critical_->most_left(), JobId{0}}, [&](const Left& next) {
      if (next.left < least) return false;
      if (critical_->is_critical(next.left)) found_.push_back(next);
      return true;
    });
    for (const Left& found : found_) {
      by_left_.erase(found);
      known_[index(found.job)].is_critical = true;
      marked_.push_back(found.job);
      changed.push_back(found.job);
    }
  }

  [[nodiscard]] bool goes_before_overdue(JobId job) const override {
    return rights_.acts_as_trial(job);
  }

  [[nodiscard]] bool has_critical() const override { return !marked_.empty(); }
  [[nodiscard]] bool is_critical(JobId job) const override {
    return critical_ != nullptr && index(job) < known_.size() && known_[index(job)].is_critical &&
           !rights_.acts_as_trial(job);
  }

 private:
  static constexpr std::int64_t kRank = std::int64_t{1}
                                        << 60;  // no submission is so late, no job so long

  /// A waiting job, the one with most left first.
  struct Left {
    Duration left;
    JobId job = kNoJob;

    friend bool operator<(const Left& a, const Left& b) {
      return a.left != b.left ? a.left > b.left : a.job < b.job;
    }
  };

  /// When another job comes none is any longer.
  void forget_critical(std::vector<JobId>& changed) {
    if (critical_->last_came() == came_) return;
    came_ = critical_->last_came();
    for (const JobId job : marked_) {
      Known& known = known_[index(job)];
      if (!std::exchange(known.is_critical, false)) continue;
      if (yard_.state(job).phase != Phase::queued) continue;
      by_left_.insert({known.left, job});
      changed.push_back(job);
    }
    marked_.clear();
  }

  const TrialRights& rights_;
  const Estimator* estimates_;    // null: within a class, first come, first served
  const CriticalJobs* critical_;  // null: they are as others, and the rest is empty
  struct Known {
    Duration left;
    bool is_critical = false;  // until another job comes, or this one comes back
  };
  std::vector<Known> known_;   // by job, since it last came to the queue
  SortedList<Left> by_left_;   // that wait, and are not critical
  std::vector<Left> found_;    // to be, in refresh()
  std::vector<JobId> marked_;  // as critical, and perhaps not any more
  Time came_;                  // the last job, when that was last looked at
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
         "remaining is ours"},
        {"critical",
         ParamType::choice,
         "as-others",
         "batch jobs that alone decide when all work is done; preempt=benefit does not pause those "
         "that went first until another job comes",
         {"as-others", "first"},
         "ours"}}},
      make_member<OrderStage, TrialFirst>};
}

}  // namespace trainyard
