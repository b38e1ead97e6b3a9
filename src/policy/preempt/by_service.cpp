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

/// Of the rank of a job with so many GPUs: whether it has more service left than that.
auto has_more(const Estimator& estimates, std::int32_t gpus, std::int64_t service) {
  return [&estimates, gpus, service](Time rank) {
    return estimates.left_at(rank) * gpus > Duration{service};
  };
}

class SrsfBlind final : public PreemptStage {
 public:
  SrsfBlind(const Params& params, PolicyContext& context)
      : PreemptStage(params, context), estimates_(context.estimates()) {}

  void on_phase(JobId job, Phase from, Phase to) override {
    Pausable<Time>& alike = by_gpus_[yard_.job(job).gpus()];
    if (from == Phase::running) alike.remove(job);
    if (to == Phase::running) alike.add(yard_, job, estimates_.rank(job));
  }
  void on_outlook(JobId job) override {
    if (yard_.state(job).phase == Phase::running)
      by_gpus_[yard_.job(job).gpus()].rerank(yard_, job, estimates_.rank(job));
  }

  bool make_room(JobId waiter, Reach reach, RoomFinder& finder, Time& retry) override {
    const Duration own = service_left(waiter);
    Offers offers(yard_, waiter, reach, finder, retry);
    heap_.clear();
    for (auto& [gpus, alike] : by_gpus_) push({gpus, alike.descent(yard_)}, own);
    while (!heap_.empty()) {
      std::pop_heap(heap_.begin(), heap_.end());
      Alike best = heap_.back();
      heap_.pop_back();
      if (offers.make((*best.next).job)) return true;
      best.next.next();
      push(best, own);
    }
    return false;
  }

  [[nodiscard]] std::int64_t claim(JobId waiter) const override { return service_left(waiter).us; }
  [[nodiscard]] bool could_free(std::int64_t claim, std::int64_t gpus) override {
    return std::ranges::any_of(by_gpus_, [&](auto& alike) {
      return alike.second.hold(yard_, gpus, has_more(estimates_, alike.first, claim));
    });
  }
  void find_retry(JobId waiter, std::int64_t claim, Time& retry) override {
    for (const auto& [gpus, alike] : by_gpus_)
      alike.find_retry(yard_, waiter, retry, has_more(estimates_, gpus, claim));
  }

 private:
  /// Those with so many GPUs, and the service that the next of them has left.
  struct Alike {
    std::int32_t gpus = 0;
    SortedList<Pausable<Time>::Entry>::Descent next;
    Duration service = {};

    /// Which leaves later.
    friend bool operator<(const Alike& a, const Alike& b) {
      return a.service != b.service ? a.service < b.service : (*a.next).job < (*b.next).job;
    }
  };

  /// Unless none of them has more left than that.
  void push(Alike alike, Duration own) {
    if (alike.next.done()) return;
    alike.service = estimates_.left_at((*alike.next).rank) * alike.gpus;
    if (alike.service <= own) return;
    heap_.push_back(alike);
    std::push_heap(heap_.begin(), heap_.end());
  }

  [[nodiscard]] Duration service_left(JobId job) const {
    return estimates_.remaining(job) * yard_.job(job).gpus();
  }
  const Estimator& estimates_;
  std::map<std::int32_t, Pausable<Time>> by_gpus_;
  std::vector<Alike> heap_;
};

}  // namespace

Member<PreemptStage> preempt_srsf_blind() {
  return {{"srsf-blind",
           "a job pauses those with more service (time x GPUs) left, most first, blind to the cost",
           "standard; a baseline of Tiresias (Gu et al., NSDI 2019)"},
          make_member<PreemptStage, SrsfBlind>};
}

}  // namespace trainyard
