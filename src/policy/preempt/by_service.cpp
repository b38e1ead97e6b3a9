// Preemption by remaining service: a job that needs less GPU time (time left x GPUs) pauses those
// that need more, most first, of equals the last submitted, whatever that costs. It is to order
// srsf what srtf-blind is to order srtf.
//
// Example: a waits with 1 h on 2 GPUs, 2 GPU hours. b has 3 h left on 1 GPU, c 30 min on 8: c, with
// 4 GPU hours, leaves first, though by time it is the next to end.
//
// The service that running jobs have left shrinks the faster the more GPUs they hold, so no rank
// orders all of them for long; those with as many GPUs keep their order, and stand together.
#include <algorithm>
#include <map>

#include "policy/members.h"
#include "policy/preempt/pausable.h"

namespace trainyard {
namespace {

class SrsfBlind final : public PreemptStage {
 public:
  bool use_estimates(const Estimator& estimates) override {
    estimates_ = &estimates;
    return estimates.is_declared();
  }

  void on_phase(const Yard& yard, JobId job, Phase from, Phase to) override {
    Pausable<Time>& alike = by_gpus_[yard.job(job).gpus()];
    if (from == Phase::running) alike.remove(job);
    if (to == Phase::running) alike.add(yard, job, estimates_->rank(yard, job));
  }

  bool make_room(const Yard& yard, JobId waiter, Reach reach, RoomFinder& finder,
                 Time& retry) override {
    const Duration own = estimates_->remaining(yard, waiter) * yard.job(waiter).gpus();
    Offers offers(yard, waiter, reach, finder, retry);
    victims_.clear();
    for (auto& [gpus, alike] : by_gpus_)
      alike.walk(yard, [&, gpus = gpus](Time rank, JobId job) {
        const Duration service = estimates_->left_at(yard, rank) * gpus;
        if (service > own) victims_.push_back({service, job});
        return service > own;
      });
    std::sort(victims_.begin(), victims_.end());
    for (const Victim& victim : victims_)
      if (offers.make(victim.job)) return true;
    for (const auto& [gpus, alike] : by_gpus_)
      alike.find_retry(yard, offers, [&, gpus = gpus](Time rank) {
        return estimates_->left_at(yard, rank) * gpus > own;
      });
    return false;
  }

 private:
  struct Victim {
    Duration service;
    JobId job = kNoJob;

    /// Who leaves first.
    friend bool operator<(const Victim& a, const Victim& b) {
      return a.service != b.service ? a.service > b.service : a.job > b.job;
    }
  };

  const Estimator* estimates_ = &declared_estimates();
  std::map<std::int32_t, Pausable<Time>> by_gpus_;
  std::vector<Victim> victims_;
};

}  // namespace

Member<PreemptStage> preempt_srsf_blind() {
  return {
      {"srsf-blind",
       "a job pauses those with more service (time x GPUs) left, most first, blind to the cost",
       "standard; a baseline of Tiresias (Gu et al., NSDI 2019)"},
      [](const Params&) -> std::unique_ptr<PreemptStage> { return std::make_unique<SrsfBlind>(); }};
}

}  // namespace trainyard
