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
    grow_to(list_of_, index(job), 0);
    std::uint32_t& list = list_of_[index(job)];
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
    Time& none_before = lists_[list_of_[index(job)] - 1].next.none_before;
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
      std::erase_if(lists_[list_of_[index(job)] - 1].turns,
                    [&](const Turn& turn) { return !visit(turn.other, turn.times); });
  }

  /// What is known of a job's next turn: it has none before that, and then one if this other job
  /// runs on until then.
  struct Next {
    Time none_before = Time::never();
    JobId other = kNoJob;
  };
  [[nodiscard]] Next next(JobId job) const {
    return has_list(job) ? lists_[list_of_[index(job)] - 1].next : Next{};
  }
  void set_next(JobId job, Next next) {
    if (has_list(job)) lists_[list_of_[index(job)] - 1].next = next;
  }

 private:
  struct Turn {
    JobId other = kNoJob;
    std::uint32_t times = 0;
  };
  struct List {
    std::vector<Turn> turns;
    Next next;
  };

  [[nodiscard]] bool has_list(JobId job) const {
    return index(job) < list_of_.size() && list_of_[index(job)] != 0;
  }

  [[nodiscard]] const std::vector<Turn>* of(JobId job) const {
    return has_list(job) ? &lists_[list_of_[index(job)] - 1].turns : nullptr;
  }

  std::vector<std::uint32_t> list_of_;  // by job: 1 + the number of its list; 0: it has none
  std::vector<List> lists_;
};

}  // namespace trainyard
