// A trial job pauses batch jobs drawn at random, until it fits. The whole set is drawn before the
// first of them is paused. Same seed, same draws.
#include "policy/members.h"
#include "policy/preempt/lots.h"
#include "policy/preempt/offers.h"

namespace trainyard {
namespace {

class RandomVictims final : public PreemptStage {
 public:
  RandomVictims(const Params& params, PolicyContext& context)
      : PreemptStage(params, context), rights_(context.rights()), batch_(context.seed()) {}

  bool make_room(JobId waiter, Reach reach, RoomFinder& finder, Time& retry) override {
    if (claim(waiter) == kNoClaim) return false;
    Offers offers(yard_, waiter, reach, finder, retry);
    return batch_.draw([&](JobId job) { return offers.make(job); });
  }

  [[nodiscard]] std::int64_t claim(JobId waiter) const override {
    return rights_.acts_as_trial(waiter) ? 0 : kNoClaim;
  }

  void save_learnt(Learnt& learnt) const override { batch_.save_learnt(learnt); }
  void recall_jobs(const Learnt& learnt) override { batch_.recall_jobs(learnt, yard_.jobs()); }

  void on_phase(JobId job, Phase from, Phase to) override {
    if (from == Phase::running) batch_.remove(job);
    if (to == Phase::running && !rights_.acts_as_trial(job)) batch_.add(yard_, job);
  }

 private:
  const TrialRights& rights_;
  Lots batch_;  // those that run
};

}  // namespace

Member<PreemptStage> preempt_none() {
  return {{"none", "nothing is ever paused", "standard"},
          [](const Params&, PolicyContext&) -> std::unique_ptr<PreemptStage> { return nullptr; }};
}

Member<PreemptStage> preempt_random() {
  return {{"random", "a trial job pauses batch jobs drawn at random",
           "RAND, a baseline of FitGpp (Yabuuchi et al. 2019)"},
          make_member<PreemptStage, RandomVictims>};
}

}  // namespace trainyard
