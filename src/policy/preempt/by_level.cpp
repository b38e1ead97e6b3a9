// Jobs of a worse level of the order stage give way to those of a better one: the preemption that
// goes with levels of attained service. The worst level leaves first, in it the job submitted last.
#include "policy/members.h"
#include "policy/preempt/pausable.h"

namespace trainyard {
namespace {

class ByLevel final : public PreemptStage {
 public:
  ByLevel(const Params& params, PolicyContext& context)
      : PreemptStage(params, context), levels_(context.order()) {}

  bool make_room(JobId waiter, Reach reach, RoomFinder& finder, Time& retry) override {
    Offers offers(yard_, waiter, reach, finder, retry);
    return by_level_.offer(yard_, offers, level(waiter), [](JobId) { return true; });
  }

  [[nodiscard]] std::int64_t claim(JobId waiter) const override { return level(waiter); }
  [[nodiscard]] bool could_free(std::int64_t claim, std::int64_t gpus) override {
    return by_level_.hold(yard_, gpus, [&](std::uint8_t level) { return claim < level; });
  }
  void find_retry(JobId waiter, std::int64_t claim, Time& retry) override {
    by_level_.find_retry(yard_, waiter, retry, [&](std::uint8_t level) { return claim < level; });
  }

  void on_phase(JobId job, Phase from, Phase to) override {
    if (from == Phase::running) by_level_.remove(job);
    if (to == Phase::running) by_level_.add(yard_, job, level(job));
  }

  void on_level(JobId job) override { by_level_.rerank(yard_, job, level(job)); }

 private:
  [[nodiscard]] std::uint8_t level(JobId job) const {
    return static_cast<std::uint8_t>(levels_.level(job));
  }

  const OrderStage& levels_;
  Pausable<std::uint8_t> by_level_;
};

}  // namespace

Member<PreemptStage> preempt_by_level() {
  return {{"by-level", "jobs of a worse level of the order stage give way, worst level first",
           "preemption of 2D-LAS: Gu et al., Tiresias, NSDI 2019; order within a level is ours"},
          make_member<PreemptStage, ByLevel>};
}

}  // namespace trainyard
