// The job with the least attained service first, its GPUs times the time that it ran, however
// little the difference is: two-dimensional least attained service without levels, as the Dally
// author's simulator has Tiresias. Of equals the one that was submitted first goes first.
#include "policy/members.h"
#include "policy/time_run.h"

namespace trainyard {
namespace {

class LeastAttained final : public OrderStage {
 public:
  using OrderStage::OrderStage;

  [[nodiscard]] std::int64_t key(JobId job) const override {
    return (time_.of(yard_, job) * yard_.job(job).gpus()).us;
  }

  void on_phase(JobId job, Phase from, Phase to) override { time_.on_phase(yard_, job, from, to); }

  void save_learnt(Learnt& learnt) const override { time_.save_learnt(yard_, learnt); }
  void recall_jobs(const Learnt& learnt) override { time_.recall_jobs(yard_, learnt); }

 private:
  TimeRun time_;
};

}  // namespace

Member<OrderStage> order_attained_service() {
  return {{"attained-service", "least attained service (GPUs x time) first, without levels",
           "Tiresias (Gu et al., NSDI 2019) as the Dally author's public simulator has it"},
          make_member<OrderStage, LeastAttained>};
}

}  // namespace trainyard
