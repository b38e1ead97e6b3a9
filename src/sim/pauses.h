// How long paused jobs were away: from being told to leave until running again.
#pragma once

#include <unordered_map>
#include <vector>

#include "yard/yard.h"

namespace trainyard {

class PauseRecorder final : public YardListener {
 public:
  explicit PauseRecorder(const Yard& yard) : yard_(yard) {}

  void on_phase(JobId job, Phase /*from*/, Phase to) override {
    if (to == Phase::draining) away_.try_emplace(job, yard_.now());
    if (away_.empty() || (to != Phase::running && !has_ended(to))) return;
    const auto left = away_.find(job);
    if (left == away_.end()) return;
    if (to == Phase::running) away_s_.push_back((yard_.now() - left->second).seconds());
    away_.erase(left);
  }

  /// Of those who are back, in the order in which they came.
  [[nodiscard]] const std::vector<double>& away_s() const { return away_s_; }

 private:
  const Yard& yard_;
  std::unordered_map<JobId, Time> away_;  // since when
  std::vector<double> away_s_;
};

}  // namespace trainyard
