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

  [[nodiscard]] std::int64_t claim(const Yard& /*yard*/, JobId waiter) const override {
    return level(waiter);
  }
  [[nodiscard]] bool could_free(const Yard& yard, std::int64_t claim, std::int64_t gpus) override {
    return by_level_.hold(yard, gpus, [&](std::uint8_t level) { return claim < level; });
  }
  void find_retry(const Yard& yard, JobId waiter, std::int64_t claim, Time& retry) override {
    by_level_.find_retry(yard, waiter, retry, [&](std::uint8_t level) { return claim < level; });
  }

  void use_levels_of(const OrderStage& order) override { levels_ = &order; }

  void on_phase(const Yard& yard, JobId job, Phase from, Phase to) override {
    if (from == Phase::running) by_level_.remove(job);
    if (to == Phase::running) by_level_.add(yard, job, level(job));
  }

  void on_level(const Yard& yard, JobId job) override { by_level_.rerank(yard, job, level(job)); }

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
