// Tasks of arrays that have no row in the journal yet. An array is submitted in a short
// transaction, with the row of its first task alone; all its tasks are in the book at once. The
// rows of the others are written some at a time, each with the first event of its task. So an
// array of thousands does not hold up others, and is there as a whole or not at all. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <unordered_map>
#include <vector>

#include "live/book/job_record.h"

namespace trainyard {

class FoldedTasks {
 public:
  /// Adds these tasks of an array; `each` is the bytes of disk that the rows of one will take.
  void add(JobNumber array, uid_t owner, std::span<const JobNumber> tasks, std::int64_t each);
  [[nodiscard]] bool contains(JobNumber task) const { return array_of_.contains(task); }
  /// The row of this task is written. False if it had been before.
  bool unfold(JobNumber task);

  /// Arrays that have no folded task any more, since forget_whole().
  [[nodiscard]] const std::vector<JobNumber>& whole() const { return whole_; }
  void forget_whole() { whole_.clear(); }
  /// Bytes of disk that rows to come will take.
  [[nodiscard]] std::int64_t bytes_of(uid_t user) const;
  [[nodiscard]] std::int64_t bytes_of_all() const;

 private:
  struct Array {
    uid_t owner = 0;
    std::int64_t each = 0;
    std::size_t left = 0;
  };

  std::map<JobNumber, Array> arrays_;
  std::unordered_map<JobNumber, JobNumber> array_of_;
  std::vector<JobNumber> whole_;
};

}  // namespace trainyard
