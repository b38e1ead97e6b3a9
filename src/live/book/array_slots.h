// The arrays that have tasks to come: how many of each may be on their way at once ("%2"), which
// wait for that, and whether all are done. One thread.
//
// A task takes a slot when nothing but the policy keeps it from starting, and holds it until it has
// ended, also while it is paused: so never more than that run, whatever happens in between. The
// others wait in the order of their numbers.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <set>

#include "live/book/job_record.h"

namespace trainyard {

class ArraySlots {
 public:
  /// A task that has not ended. One that is on its way holds a slot, however many there are.
  void add(const JobRecord& task);
  /// Some tasks of the array have ended before, not all of them done.
  void add_not_done(JobNumber array);

  /// Whether the task may be on its way now; if not, it waits.
  [[nodiscard]] bool take(const JobRecord& task);
  /// It has ended.
  void leave(const JobRecord& task, bool done);
  /// A waiting task for which there is a slot by now; it waits no more.
  [[nodiscard]] std::optional<JobNumber> next(JobNumber array);

  [[nodiscard]] bool waits(const JobRecord& task) const;
  /// Whether the array has tasks that have not ended.
  [[nodiscard]] bool contains(JobNumber array) const { return arrays_.contains(array); }
  /// Whether one of its tasks has failed or was cancelled; false when all have ended.
  [[nodiscard]] bool not_done(JobNumber array) const;

 private:
  struct Array {
    std::size_t at_once = 0, unfinished = 0;
    bool not_done = false;
    std::set<JobNumber> holding, waiting;  // empty where there is no bound
  };
  std::map<JobNumber, Array> arrays_;
};

}  // namespace trainyard
