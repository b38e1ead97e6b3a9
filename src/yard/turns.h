// Who gave way to whom, and how often: what the yard's rule on taking turns looks at. Of jobs that
// pause each other for days it is asked at every decision, so each pair is kept once, with a count,
// those that have ended are dropped where all are looked at or memory would have to grow, and what
// was found when a job's pairs were last looked at is kept.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/grow.h"
#include "base/ids.h"
#include "base/time.h"

namespace trainyard {

class Turns {
 public:
  /// `job` was paused for `other`; returns how often by now.
  std::uint32_t note(JobId job, JobId other) {
    grow_to(known_, index(job), 0);
    std::uint32_t& list = known_[index(job)].list;
    if (list == 0) {
      lists_.emplace_back();
      list = static_cast<std::uint32_t>(lists_.size());
    }
    std::vector<Turn>& turns = lists_[list - 1].turns;
    const auto known = std::ranges::find(turns, other, &Turn::other);
    if (known != turns.end()) return ++known->times;
    turns.push_back({other, 1});
    return 1;
  }

  /// Whether to note another would take more memory: time to drop those that no longer matter.
  [[nodiscard]] bool is_full(JobId job) const {
    const auto turns = of(job);
    return turns != nullptr && turns->size() == turns->capacity();
  }

  /// By what was noted last, the job may have a turn from then on.
  void expect(JobId job, Time first) {
    Time& none_before = known_[index(job)].none_before;
    none_before = std::min(none_before, first);
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
      std::erase_if(lists_[known_[index(job)].list - 1].turns,
                    [&](const Turn& turn) { return !visit(turn.other, turn.times); });
  }

  /// What is known of a job's next turn: it has none before that, and then one if this other job
  /// runs on until then.
  struct Next {
    Time none_before = Time::never();
    JobId other = kNoJob;
  };
  [[nodiscard]] Next next(JobId job) const {
    if (!has_list(job)) return {};
    return {none_before(job), lists_[known_[index(job)].list - 1].next};
  }
  void set_next(JobId job, Next next) {
    if (!has_list(job)) return;
    known_[index(job)].none_before = next.none_before;
    lists_[known_[index(job)].list - 1].next = next.other;
  }
  /// Of its next turn: asked of thousands in a decision, so that it is one load.
  [[nodiscard]] Time none_before(JobId job) const {
    return index(job) < known_.size() ? known_[index(job)].none_before : Time::never();
  }

 private:
  struct Turn {
    JobId other = kNoJob;
    std::uint32_t times = 0;
  };
  struct List {
    std::vector<Turn> turns;
    JobId next = kNoJob;
  };
  struct Known {
    Time none_before = Time::never();
    std::uint32_t list = 0;  // 1 + its number; 0: the job has none
  };

  [[nodiscard]] bool has_list(JobId job) const {
    return index(job) < known_.size() && known_[index(job)].list != 0;
  }

  [[nodiscard]] const std::vector<Turn>* of(JobId job) const {
    return has_list(job) ? &lists_[known_[index(job)].list - 1].turns : nullptr;
  }

  std::vector<Known> known_;  // by job
  std::vector<List> lists_;
};

}  // namespace trainyard
