// Preemption by remaining time, whoever would stay longest leaves first: until when a running job
// is expected to stay, its checkpoints included, against the work that the waiter has left.
//   srtf-blind         a job with less time left pauses those with more, whatever that costs: the
//                      preemption that SRTF's optimality assumes to be free.
//   longest-remaining  a trial job pauses batch jobs (the LRTP baseline of FitGpp's study).
#include "policy/members.h"
#include "policy/preempt/pausable.h"

namespace trainyard {
namespace {

class ByRemaining : public PreemptStage {
 public:
  bool make_room(const Yard& yard, JobId waiter, Reach reach, RoomFinder& finder,
                 Time& retry) override {
    if (!may_preempt(yard, waiter)) return false;
    Offers offers(yard, waiter, reach, finder, retry);
    const Time shortest = estimates_->rank_of(yard, least_remaining(yard, waiter));
    return by_end_.offer(yard, offers, shortest, [&](JobId job) { return is_victim(yard, job); });
  }

  [[nodiscard]] std::int64_t claim(const Yard& yard, JobId waiter) const override {
    return may_preempt(yard, waiter) ? least_remaining(yard, waiter).us : kNoClaim;
  }
  [[nodiscard]] bool could_free(const Yard& yard, std::int64_t claim, std::int64_t gpus) override {
    const Time shortest = estimates_->rank_of(yard, Duration{claim});
    return by_end_.hold(yard, gpus, [&](Time rank) { return shortest < rank; });
  }
  void find_retry(const Yard& yard, JobId waiter, std::int64_t claim, Time& retry) override {
    const Time shortest = estimates_->rank_of(yard, Duration{claim});
    by_end_.find_retry(
        yard, waiter, retry, [&](Time rank) { return shortest < rank; },
        [&](JobId job) { return is_victim(yard, job); });
  }

  bool use_estimates(const Estimator& estimates) override {
    estimates_ = &estimates;
    return estimates.is_declared();
  }

  void on_phase(const Yard& yard, JobId job, Phase from, Phase to) override {
    if (from == Phase::running) by_end_.remove(job);
    if (to == Phase::running) by_end_.add(yard, job, estimates_->rank(yard, job));
  }
  void on_outlook(const Yard& yard, JobId job) override {
    if (yard.state(job).phase == Phase::running)
      by_end_.rerank(yard, job, estimates_->rank(yard, job));
  }

 protected:
  [[nodiscard]] virtual bool may_preempt(const Yard& yard, JobId waiter) const = 0;
  [[nodiscard]] virtual bool is_victim(const Yard& yard, JobId job) const = 0;
  /// A victim must have more than this left.
  [[nodiscard]] virtual Duration least_remaining(const Yard& yard, JobId waiter) const = 0;
  [[nodiscard]] Duration remaining(const Yard& yard, JobId job) const {
    return estimates_->remaining(yard, job);
  }

 private:
  const Estimator* estimates_ = &declared_estimates();
  Pausable<Time> by_end_;
};

class SrtfBlind final : public ByRemaining {
  [[nodiscard]] bool may_preempt(const Yard&, JobId) const override { return true; }
  [[nodiscard]] bool is_victim(const Yard&, JobId) const override { return true; }
  [[nodiscard]] Duration least_remaining(const Yard& yard, JobId waiter) const override {
    return remaining(yard, waiter);
  }
};

class LongestRemaining final : public ByRemaining {
 public:
  bool use(const TrialRights& rights) override {
    rights_ = &rights;
    return true;
  }

 private:
  [[nodiscard]] bool may_preempt(const Yard&, JobId waiter) const override {
    return rights_->acts_as_trial(waiter);
  }
  [[nodiscard]] bool is_victim(const Yard&, JobId job) const override {
    return !rights_->acts_as_trial(job);
  }
  [[nodiscard]] Duration least_remaining(const Yard&, JobId) const override { return {}; }

  const TrialRights* rights_ = nullptr;
};

}  // namespace

Member<PreemptStage> preempt_srtf_blind() {
  return {
      {"srtf-blind", "a job pauses those with more time left, most first, blind to the cost",
       "standard; the strawman of Xion (Go et al. 2023)"},
      [](const Params&) -> std::unique_ptr<PreemptStage> { return std::make_unique<SrtfBlind>(); }};
}

Member<PreemptStage> preempt_longest_remaining() {
  return {{"longest-remaining", "a trial job pauses the batch jobs with the most time left",
           "LRTP, a baseline of FitGpp (Yabuuchi et al. 2019)"},
          [](const Params&) -> std::unique_ptr<PreemptStage> {
            return std::make_unique<LongestRemaining>();
          }};
}

}  // namespace trainyard
