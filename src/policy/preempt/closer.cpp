// No job gives way; but one that is spread over machines moves when a closer placement is free:
// fewer machines, or machines that are closer to each other. It goes before jobs that wait. What
// Gandiva (Xiao et al., OSDI 2018) does by migration, as the Dally author's simulator has it.
#include "base/sorted_list.h"
#include "policy/members.h"

namespace trainyard {
namespace {

class MoveCloser final : public PreemptStage {
 public:
  using PreemptStage::PreemptStage;

  bool make_room(JobId /*waiter*/, Reach /*reach*/, RoomFinder& /*finder*/,
                 Time& /*retry*/) override {
    return false;
  }
  [[nodiscard]] std::int64_t claim(JobId /*waiter*/) const override { return kNoClaim; }

  void list_movers(std::vector<JobId>& jobs) override {
    next_ = Time::never();
    spread_.each([&](JobId job) {
      const Time from = yard_.pausable_from(job, job);
      if (from <= yard_.now()) {
        jobs.push_back(job);
      } else {
        next_ = std::min(next_, from);
      }
      return true;
    });
  }
  [[nodiscard]] Time next_rebid() const override { return next_; }

  void on_phase(JobId job, Phase from, Phase to) override {
    if (from == Phase::running) spread_.erase(job);
    if (to == Phase::running && yard_.placement(job).size() > 1) spread_.insert(job);
  }

 private:
  SortedList<JobId> spread_;  // over several machines, those that run
  Time next_ = Time::never();
};

}  // namespace

Member<PreemptStage> preempt_closer() {
  return {{"closer", "no job gives way; one that is spread moves when a closer placement is free",
           "Gandiva (Xiao et al., OSDI 2018) as the Dally author's public simulator has it"},
          make_member<PreemptStage, MoveCloser>};
}

}  // namespace trainyard
