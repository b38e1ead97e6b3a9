// Jobs of a worse level of the order stage give way to those of a better one: the preemption that
// goes with levels of attained service. The worst level leaves first, in it the job submitted last.
#include "base/grow.h"
#include "policy/members.h"
#include "policy/preempt/offers.h"

namespace trainyard {
namespace {

class ByLevel final : public PreemptStage {
 public:
  bool make_room(const Yard& yard, JobId waiter, std::int32_t max_machines, RoomFinder& finder,
                 Time& retry) override {
    Offers offers(yard, waiter, max_machines, finder, retry);
    const int level = levels_->level(waiter);
    running_.each_reverse(
        [&](const Entry& entry) { return entry.level > level && !offers.make(entry.job); });
    return offers.accepted();
  }

  void use_levels_of(const OrderStage& order) override { levels_ = &order; }

  void on_phase(const Yard& yard, JobId job, Phase from, Phase to) override {
    if (from == Phase::running) running_.erase({level_[index(job)], job});
    if (to == Phase::running) {
      grow_to(level_, index(job), yard.workload().jobs.size());
      list(job);
    }
  }

  void on_level(const Yard& /*yard*/, JobId job) override {
    running_.erase({level_[index(job)], job});
    list(job);
  }

 private:
  struct Entry {
    std::uint8_t level = 0;
    JobId job = kNoJob;

    friend bool operator<(const Entry& a, const Entry& b) {
      return a.level != b.level ? a.level < b.level : a.job < b.job;
    }
  };

  void list(JobId job) {
    level_[index(job)] = static_cast<std::uint8_t>(levels_->level(job));
    running_.insert({level_[index(job)], job});
  }

  const OrderStage* levels_ = nullptr;
  SortedList<Entry> running_;
  std::vector<std::uint8_t> level_;  // by job: the one it is listed under
};

}  // namespace

Member<PreemptStage> preempt_by_level() {
  return {
      {"by-level", "jobs of a worse level of the order stage give way, worst level first",
       "preemption of 2D-LAS: Gu et al., Tiresias, NSDI 2019; order within a level is ours"},
      [](const Params&) -> std::unique_ptr<PreemptStage> { return std::make_unique<ByLevel>(); }};
}

}  // namespace trainyard
