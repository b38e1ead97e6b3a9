// The records of all jobs that have not ended, or whose end is not on disk yet, and what they are
// found by. Jobs that have ended are in the journal alone.
//
// There are two states of it: the present one, and the last that is on disk, which is what others
// may be shown. A record gets into the present one as it was written down (enter), or is changed
// and written down later (edit, set_life); written() says that this has been done.
//
// One thread; what on_disk() gives may be read by any.
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <vector>

#include "live/book/array_slots.h"
#include "live/book/dependencies.h"
#include "live/book/job_table.h"

namespace trainyard {

class JobBook {
 public:
  [[nodiscard]] std::size_t size() const { return table_.size(); }
  [[nodiscard]] std::vector<JobNumber> numbers() const { return table_.numbers(); }
  /// Null when there is none.
  [[nodiscard]] const JobRecord* find(JobNumber number) const { return table_.find(number); }
  /// One that is there.
  [[nodiscard]] const JobRecord& at(JobNumber number) const;

  /// A record as the journal has it: a new one, or in the place of an older one.
  void enter(JobRecord record);
  /// For changing one that is there; what was changed is to be written down.
  [[nodiscard]] JobRecord& edit(JobNumber number);
  /// What the yard knows of it now.
  void set_life(JobNumber number, JobLife life);

  /// Those that have changed since it was last on disk.
  [[nodiscard]] const std::set<JobNumber>& changed() const { return changed_; }
  /// Nothing has changed since: what was entered is on disk.
  void entered() { on_disk_ = table_.share(); }
  /// All that has changed is on disk; those of them that have ended leave.
  void written();
  [[nodiscard]] const JobTable& on_disk() const { return on_disk_; }

  /// Those that hold GPUs.
  [[nodiscard]] const std::set<JobNumber>& holding() const { return holding_; }
  /// How many jobs there are, and what they take of memory (memory_of).
  struct Held {
    std::size_t jobs = 0, bytes = 0;
  };
  [[nodiscard]] Held held_by(uid_t user) const;
  [[nodiscard]] const Held& held_by_all() const { return all_; }
  [[nodiscard]] Dependencies& dependencies() { return dependencies_; }
  [[nodiscard]] const Dependencies& dependencies() const { return dependencies_; }
  /// Of the tasks in the book.
  [[nodiscard]] ArraySlots& arrays() { return arrays_; }
  [[nodiscard]] const ArraySlots& arrays() const { return arrays_; }

 private:
  /// A job comes (1), or goes (-1).
  void count(const JobRecord& job, int change);

  JobTable table_, on_disk_;
  std::set<JobNumber> changed_, holding_;
  std::map<uid_t, Held> held_by_;
  Held all_;
  Dependencies dependencies_;
  ArraySlots arrays_;
};

}  // namespace trainyard
