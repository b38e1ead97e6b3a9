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
  ByRemaining(const Params& params, PolicyContext& context)
      : PreemptStage(params, context), estimates_(context.estimates()) {}

  bool make_room(JobId waiter, Reach reach, RoomFinder& finder, Time& retry) override {
    if (!may_preempt(waiter)) return false;
    Offers offers(yard_, waiter, reach, finder, retry);
    const Time shortest = estimates_.rank_of(least_remaining(waiter));
    return by_end_.offer(yard_, offers, shortest, [&](JobId job) { return is_victim(job); });
  }

  [[nodiscard]] std::int64_t claim(JobId waiter) const override {
    return may_preempt(waiter) ? least_remaining(waiter).us : kNoClaim;
  }
  [[nodiscard]] bool could_free(std::int64_t claim, std::int64_t gpus) override {
    const Time shortest = estimates_.rank_of(Duration{claim});
    return by_end_.hold(yard_, gpus, [&](Time rank) { return shortest < rank; });
  }
  void find_retry(JobId waiter, std::int64_t claim, Time& retry) override {
    const Time shortest = estimates_.rank_of(Duration{claim});
    by_end_.find_retry(
        yard_, waiter, retry, [&](Time rank) { return shortest < rank; },
        [&](JobId job) { return is_victim(job); });
  }

  void on_phase(JobId job, Phase from, Phase to) override {
    if (from == Phase::running) by_end_.remove(job);
    if (to == Phase::running) by_end_.add(yard_, job, estimates_.rank(job));
  }
  void on_outlook(JobId job) override {
    if (yard_.state(job).phase == Phase::running) by_end_.rerank(yard_, job, estimates_.rank(job));
  }

 protected:
  [[nodiscard]] virtual bool may_preempt(JobId waiter) const = 0;
  [[nodiscard]] virtual bool is_victim(JobId job) const = 0;
  /// A victim must have more than this left.
  [[nodiscard]] virtual Duration least_remaining(JobId waiter) const = 0;
  [[nodiscard]] Duration remaining(JobId job) const { return estimates_.remaining(job); }

 private:
  const Estimator& estimates_;
  Pausable<Time> by_end_;
};

class SrtfBlind final : public ByRemaining {
 public:
  using ByRemaining::ByRemaining;

 private:
  [[nodiscard]] bool may_preempt(JobId) const override { return true; }
  [[nodiscard]] bool is_victim(JobId) const override { return true; }
  [[nodiscard]] Duration least_remaining(JobId waiter) const override { return remaining(waiter); }
};

class LongestRemaining final : public ByRemaining {
 public:
  LongestRemaining(const Params& params, PolicyContext& context)
      : ByRemaining(params, context), rights_(context.rights()) {}

 private:
  [[nodiscard]] bool may_preempt(JobId waiter) const override {
    return rights_.acts_as_trial(waiter);
  }
  [[nodiscard]] bool is_victim(JobId job) const override { return !rights_.acts_as_trial(job); }
  [[nodiscard]] Duration least_remaining(JobId) const override { return {}; }

  const TrialRights& rights_;
};

}  // namespace

Member<PreemptStage> preempt_srtf_blind() {
  return {{"srtf-blind", "a job pauses those with more time left, most first, blind to the cost",
           "standard; the strawman of Xion (Go et al. 2023)"},
          make_member<PreemptStage, SrtfBlind>};
}

Member<PreemptStage> preempt_longest_remaining() {
  return {{"longest-remaining", "a trial job pauses the batch jobs with the most time left",
           "LRTP, a baseline of FitGpp (Yabuuchi et al. 2019)"},
          make_member<PreemptStage, LongestRemaining>};
}

}  // namespace trainyard
