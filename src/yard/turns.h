// Who gave way to whom, and how often: what the yard's rule on taking turns looks at. Of jobs that
// pause each other for days it is asked at every decision, so each pair is kept once, with a count.
#pragma once

#include <algorithm>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "base/ids.h"

namespace trainyard {

class Turns {
 public:
  /// `job` was paused for `other`.
  void note(JobId job, JobId other) {
    std::vector<Turn>& turns = turns_[job];
    const auto known = std::ranges::find(turns, other, &Turn::other);
    if (known == turns.end()) {
      turns.push_back({other, 1});
    } else {
      ++known->times;
    }
  }

  /// Forgets those to whom the job gave way for whom has_ended(other).
  template <class HasEnded>
  void forget(JobId job, HasEnded has_ended) {
    if (const auto found = turns_.find(job); found != turns_.end())
      std::erase_if(found->second, [&](const Turn& turn) { return has_ended(turn.other); });
  }

  /// How often the job gave way to this one.
  [[nodiscard]] std::uint32_t times(JobId job, JobId other) const {
    std::uint32_t found = 0;
    each(job, [&](JobId to, std::uint32_t times) {
      if (to == other) found = times;
    });
    return found;
  }

  /// Calls visit(other, times) for all to whom the job gave way.
  template <class Visit>
  void each(JobId job, Visit visit) const {
    if (const auto found = turns_.find(job); found != turns_.end())
      for (const Turn& turn : found->second) visit(turn.other, turn.times);
  }

 private:
  struct Turn {
    JobId other = kNoJob;
    std::uint32_t times = 0;
  };
  std::unordered_map<JobId, std::vector<Turn>> turns_;
};

}  // namespace trainyard
