#include "live/book/folded_tasks.h"

namespace trainyard {

void FoldedTasks::add(JobNumber array, uid_t owner, std::span<const JobNumber> tasks,
                      std::int64_t each) {
  if (tasks.empty()) return whole_.push_back(array);
  arrays_[array] = {owner, each, tasks.size()};
  for (const JobNumber task : tasks) array_of_.emplace(task, array);
}

bool FoldedTasks::unfold(JobNumber task) {
  const auto found = array_of_.find(task);
  if (found == array_of_.end()) return false;
  const auto array = arrays_.find(found->second);
  array_of_.erase(found);
  if (--array->second.left > 0) return true;
  whole_.push_back(array->first);
  arrays_.erase(array);
  return true;
}

std::int64_t FoldedTasks::bytes_of(uid_t user) const {
  std::int64_t sum = 0;
  for (const auto& [number, array] : arrays_)
    if (array.owner == user) sum += array.each * static_cast<std::int64_t>(array.left);
  return sum;
}

std::int64_t FoldedTasks::bytes_of_all() const {
  std::int64_t sum = 0;
  for (const auto& [number, array] : arrays_)
    sum += array.each * static_cast<std::int64_t>(array.left);
  return sum;
}

}  // namespace trainyard
