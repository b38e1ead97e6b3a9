// How long jobs take to leave, learnt from how long they took: a user may not know it, or may call
// it long in order to be spared.
//
// A job that was paused before is expected to take as long as its pauses did on the average; else
// as long as those of the same user's jobs of the same model did; else what was declared.
#pragma once

#include <unordered_map>

#include "yard/yard.h"

namespace trainyard {

class LearntPause {
 public:
  void on_phase(const Yard& yard, JobId job, Phase from, Phase to);
  [[nodiscard]] Duration expected(const Yard& yard, JobId job) const;

 private:
  struct Seen {
    Duration sum;
    std::int64_t count = 0;
    void add(Duration pause) { sum += pause, ++count; }
    [[nodiscard]] Duration mean() const { return {sum.us / count}; }
  };
  static std::uint64_t likes_of(const Job& job) {
    return (std::uint64_t{index(job.user)} << 16) | index(job.model);
  }

  std::unordered_map<JobId, Time> told_;  // when it was told to leave
  std::unordered_map<JobId, Seen> own_;
  std::unordered_map<std::uint64_t, Seen> likes_;
};

inline void LearntPause::on_phase(const Yard& yard, JobId job, Phase from, Phase to) {
  if (to == Phase::draining) told_[job] = yard.now();
  if (from != Phase::draining) return;
  if (to == Phase::queued) {
    const Duration pause = yard.now() - told_[job];
    own_[job].add(pause);
    likes_[likes_of(yard.job(job))].add(pause);
  }
  told_.erase(job);
}

inline Duration LearntPause::expected(const Yard& yard, JobId job) const {
  if (const auto own = own_.find(job); own != own_.end()) return own->second.mean();
  if (const auto like = likes_.find(likes_of(yard.job(job))); like != likes_.end())
    return like->second.mean();
  return yard.expected_pause(job);
}

}  // namespace trainyard
