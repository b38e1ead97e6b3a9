// Who gave way to whom, and how often: what the yard's rule on taking turns looks at. Of jobs that
// pause each other for days it is asked at every decision, so each pair is kept once, with a count,
// and those that have ended are dropped where they are met.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/grow.h"
#include "base/ids.h"

namespace trainyard {

class Turns {
 public:
  /// `job` was paused for `other`.
  void note(JobId job, JobId other) {
    grow_to(list_of_, index(job), 0);
    std::uint32_t& list = list_of_[index(job)];
    if (list == 0) {
      lists_.emplace_back();
      list = static_cast<std::uint32_t>(lists_.size());
    }
    std::vector<Turn>& turns = lists_[list - 1];
    const auto known = std::ranges::find(turns, other, &Turn::other);
    if (known == turns.end()) {
      turns.push_back({other, 1});
    } else {
      ++known->times;
    }
  }

  /// How often the job gave way to this one.
  [[nodiscard]] std::uint32_t times(JobId job, JobId other) const {
    const auto turns = of(job);
    if (turns == nullptr) return 0;
    const auto found = std::ranges::find(*turns, other, &Turn::other);
    return found == turns->end() ? 0 : found->times;
  }

  /// Calls visit(other, times) for all to whom the job gave way.
  template <class Visit>
  void each(JobId job, Visit visit) const {
    if (const auto turns = of(job); turns != nullptr)
      for (const Turn& turn : *turns) visit(turn.other, turn.times);
  }

  /// The same, and forgets those for whom it returns false.
  template <class Visit>
  void keep(JobId job, Visit visit) {
    if (const auto turns = of(job); turns != nullptr)
      std::erase_if(lists_[list_of_[index(job)] - 1],
                    [&](const Turn& turn) { return !visit(turn.other, turn.times); });
  }

 private:
  struct Turn {
    JobId other = kNoJob;
    std::uint32_t times = 0;
  };

  [[nodiscard]] const std::vector<Turn>* of(JobId job) const {
    if (index(job) >= list_of_.size() || list_of_[index(job)] == 0) return nullptr;
    return &lists_[list_of_[index(job)] - 1];
  }

  std::vector<std::uint32_t> list_of_;  // by job: 1 + the number of its list; 0: it has none
  std::vector<std::vector<Turn>> lists_;
};

}  // namespace trainyard
