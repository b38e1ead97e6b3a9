// Jobs of a worse level of the order stage give way to those of a better one: the preemption that
// goes with levels of attained service. The worst level leaves first, in it the job submitted last.
#include "policy/members.h"
#include "policy/preempt/pausable.h"

namespace trainyard {
namespace {

class ByLevel final : public PreemptStage {
 public:
  bool make_room(const Yard& yard, JobId waiter, Reach reach, RoomFinder& finder,
                 Time& retry) override {
    Offers offers(yard, waiter, reach, finder, retry);
    return by_level_.offer(yard, offers, level(waiter), [](JobId) { return true; });
  }

  void use_levels_of(const OrderStage& order) override { levels_ = &order; }

  void on_phase(const Yard& yard, JobId job, Phase from, Phase to) override {
    if (from == Phase::running) by_level_.remove(job);
    if (to == Phase::running) by_level_.add(yard, job, level(job));
  }

  void on_level(const Yard& /*yard*/, JobId job) override { by_level_.rerank(job, level(job)); }

 private:
  [[nodiscard]] std::uint8_t level(JobId job) const {
    return static_cast<std::uint8_t>(levels_->level(job));
  }

  const OrderStage* levels_ = nullptr;
  Pausable<std::uint8_t> by_level_;
};

}  // namespace

Member<PreemptStage> preempt_by_level() {
  return {
      {"by-level", "jobs of a worse level of the order stage give way, worst level first",
       "preemption of 2D-LAS: Gu et al., Tiresias, NSDI 2019; order within a level is ours"},
      [](const Params&) -> std::unique_ptr<PreemptStage> { return std::make_unique<ByLevel>(); }};
}

}  // namespace trainyard
