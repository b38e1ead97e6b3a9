#include "policy/joint/market_and_stages.h"

#include "policy/joint/open_jobs.h"

namespace trainyard {

void MarketAndStages::decide(Plan& plan) {
  if (!stages_->has_overdue()) market_->decide(plan);
  stages_->decide(plan);
}

WaitReason MarketAndStages::explain(JobId job) const {
  return leaves_open(yard_, job) ? market_->explain(job) : stages_->explain(job);
}

void MarketAndStages::on_phase(JobId job, Phase from, Phase to) {
  market_->on_phase(job, from, to);
  stages_->on_phase(job, from, to);
}

void MarketAndStages::on_machine(MachineId machine, bool up) {
  market_->on_machine(machine, up);
  stages_->on_machine(machine, up);
}

void MarketAndStages::on_estimate(JobId job) {
  market_->on_estimate(job);
  stages_->on_estimate(job);
}

}  // namespace trainyard
