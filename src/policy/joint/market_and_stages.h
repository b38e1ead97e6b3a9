// A market and stages in one plan (joint=market with joint.takes=open). All jobs that wait stand in
// the queue of the stages. In every decision
//
//  1. the market decides for jobs that leave something open (open_jobs.h): which of the next in the
//     queue start, with which size and on which kinds of GPU; in a round also which of those that
//     run are moved and resized. Of the next in the queue, those that leave nothing open are
//     buyers, too, but only bid: what they win stays free.
//  2. the stages decide for all that still wait, as if there were no market. To them an open job is
//     one of its usual size: they may pause it, and pause others for it. They also say in which
//     flow class each job is.
//
// While a job is out of patience for which there are machines, the market rests: what gets free is
// for that job.
//
// Where no job leaves anything open, the stages decide alone.
//
// Example: 8 GPUs; A can use 1 to 8 and has them all; B, which takes 4, comes. If B is so short
// that to pause A pays, the stages do that at once. Else B bids in the next round: if all together
// gain by it, A shrinks to 4, and B starts on the others as soon as A has left them.
#pragma once

#include <memory>

#include "policy/staged_policy.h"

namespace trainyard {

class MarketAndStages final : public Policy {
 public:
  MarketAndStages(const Yard& yard, std::unique_ptr<Policy> market,
                  std::unique_ptr<StagedPolicy> stages)
      : yard_(yard), market_(std::move(market)), stages_(std::move(stages)) {}

  void decide(Plan& plan) override;
  /// When a job begins to run matters to the stages only: the market has its rounds.
  [[nodiscard]] bool preempts() const override { return stages_->preempts(); }
  [[nodiscard]] FlowRules flow_rules() const override { return stages_->flow_rules(); }
  [[nodiscard]] std::string explain_flow(JobId job) const override {
    return stages_->explain_flow(job);
  }
  [[nodiscard]] WaitReason explain(JobId job) const override;
  void save_learnt(Learnt& learnt) const override {
    Policy::save_learnt(learnt);
    market_->save_learnt(learnt);
    stages_->save_learnt(learnt);
  }
  void recall(const Learnt& learnt, Time now) override {
    Policy::recall(learnt, now);
    market_->recall(learnt, now);
    stages_->recall(learnt, now);
  }
  void recall_jobs(const Learnt& learnt) override {
    Policy::recall_jobs(learnt);
    market_->recall_jobs(learnt);
    stages_->recall_jobs(learnt);
  }

  void on_phase(JobId job, Phase from, Phase to) override;
  void on_machine(MachineId machine, bool up) override;
  void on_rate(JobId job) override { stages_->on_rate(job); }
  void on_estimate(JobId job) override;
  void on_learnt(JobId job, const LearningPoint& point) override { stages_->on_learnt(job, point); }

 private:
  const Yard& yard_;
  std::unique_ptr<Policy> market_;
  std::unique_ptr<StagedPolicy> stages_;
};

}  // namespace trainyard
