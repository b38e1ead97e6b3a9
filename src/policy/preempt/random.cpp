// A trial job pauses batch jobs drawn at random, until it fits. The whole set is drawn before the
// first of them is paused. Same seed, same draws.
#include "base/random.h"
#include "base/grow.h"
#include "policy/members.h"
#include "policy/preempt/offers.h"

namespace trainyard {
namespace {

class RandomVictims final : public PreemptStage {
 public:
  explicit RandomVictims(const Params& params) : random_(params.seed, kStream) {}

  bool make_room(const Yard& yard, JobId waiter, std::int32_t max_machines, RoomFinder& finder,
                 Time& retry) override {
    if (yard.job(waiter).job_class != JobClass::trial) return false;
    Offers offers(yard, waiter, max_machines, finder, retry);
    for (std::size_t i = 0; i < batch_.size(); ++i) {
      swap(i, i + random_.below(batch_.size() - i));
      if (offers.make(batch_[i])) return true;
    }
    return false;
  }

  void on_phase(const Yard& yard, JobId job, Phase from, Phase to) override {
    if (yard.job(job).job_class != JobClass::batch) return;
    if (from == Phase::running) {
      swap(place_[index(job)], batch_.size() - 1);
      batch_.pop_back();
    }
    if (to == Phase::running) {
      grow_to(place_, index(job), yard.workload().jobs.size());
      place_[index(job)] = static_cast<std::uint32_t>(batch_.size());
      batch_.push_back(job);
    }
  }

 private:
  static constexpr std::uint64_t kStream = 101;

  void swap(std::size_t a, std::size_t b) {
    std::swap(batch_[a], batch_[b]);
    place_[index(batch_[a])] = static_cast<std::uint32_t>(a);
    place_[index(batch_[b])] = static_cast<std::uint32_t>(b);
  }

  Random random_;
  std::vector<JobId> batch_;          // those that run, in no order that matters
  std::vector<std::uint32_t> place_;  // by job: where in batch_
};

}  // namespace

Member<PreemptStage> preempt_none() {
  return {{"none", "nothing is ever paused", "standard"},
          [](const Params&) -> std::unique_ptr<PreemptStage> { return nullptr; }};
}

Member<PreemptStage> preempt_random() {
  return {{"random", "a trial job pauses batch jobs drawn at random",
           "RAND, a baseline of FitGpp (Yabuuchi et al. 2019)"},
          [](const Params& params) -> std::unique_ptr<PreemptStage> {
            return std::make_unique<RandomVictims>(params);
          }};
}

}  // namespace trainyard
