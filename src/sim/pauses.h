// How long paused jobs were away: from being told to leave until running again.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "yard/yard.h"

namespace trainyard {

class PauseRecorder final : public YardListener {
 public:
  explicit PauseRecorder(const Yard& yard) : yard_(yard) {}

  void on_phase(JobId job, Phase /*from*/, Phase to) override {
    if (to == Phase::draining) return leave(job);
    if (to != Phase::running && !has_ended(to)) return;
    if (index(job) >= away_since_.size() || away_since_[index(job)] == Time::never()) return;
    const Time since = std::exchange(away_since_[index(job)], Time::never());
    if (to == Phase::running) away_s_.push_back((yard_.now() - since).seconds());
  }

  /// Of those who are back, in the order in which they came.
  [[nodiscard]] const std::vector<double>& away_s() const { return away_s_; }

 private:
  /// One that is told to leave before it runs again has been away since it was told first.
  void leave(JobId job) {
    if (index(job) >= away_since_.size())
      away_since_.resize(yard_.workload().jobs.size(), Time::never());
    Time& since = away_since_[index(job)];
    since = std::min(since, yard_.now());
  }

  const Yard& yard_;
  std::vector<Time> away_since_;  // by job; never: it is not away
  std::vector<double> away_s_;
};

}  // namespace trainyard
