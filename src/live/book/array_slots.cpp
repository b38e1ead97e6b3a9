#include "live/book/array_slots.h"

namespace trainyard {

void ArraySlots::add(const JobRecord& task) {
  if (task.task.array == 0) return;
  Array& array = arrays_[task.task.array];
  array.at_once = static_cast<std::size_t>(task.task.at_once);
  ++array.unfinished;
  const bool is_on_its_way = !task.is_held() || task.old_run != OldRun::none;
  if (array.at_once > 0 && is_on_its_way) array.holding.insert(task.number);
}

void ArraySlots::add_not_done(JobNumber array) {
  if (const auto found = arrays_.find(array); found != arrays_.end()) found->second.not_done = true;
}

bool ArraySlots::take(const JobRecord& task) {
  const auto found = arrays_.find(task.task.array);
  if (found == arrays_.end() || found->second.at_once == 0) return true;
  Array& array = found->second;
  if (!array.holding.contains(task.number) && array.holding.size() >= array.at_once) {
    array.waiting.insert(task.number);
    return false;
  }
  array.waiting.erase(task.number);
  array.holding.insert(task.number);
  return true;
}

void ArraySlots::leave(const JobRecord& task, bool done) {
  const auto found = arrays_.find(task.task.array);
  if (found == arrays_.end()) return;
  Array& array = found->second;
  array.holding.erase(task.number);
  array.waiting.erase(task.number);
  array.not_done = array.not_done || !done;
  if (--array.unfinished == 0) arrays_.erase(found);
}

std::optional<JobNumber> ArraySlots::next(JobNumber number) {
  const auto found = arrays_.find(number);
  if (found == arrays_.end()) return {};
  Array& array = found->second;
  if (array.waiting.empty() || array.holding.size() >= array.at_once) return {};
  return array.waiting.extract(array.waiting.begin()).value();
}

bool ArraySlots::waits(const JobRecord& task) const {
  const auto found = arrays_.find(task.task.array);
  return found != arrays_.end() && found->second.waiting.contains(task.number);
}

bool ArraySlots::not_done(JobNumber array) const {
  const auto found = arrays_.find(array);
  return found != arrays_.end() && found->second.not_done;
}

}  // namespace trainyard
