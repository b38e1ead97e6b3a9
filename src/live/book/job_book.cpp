#include "live/book/job_book.h"

#include <stdexcept>

namespace trainyard {

const JobRecord& JobBook::at(JobNumber number) const {
  const JobRecord* found = find(number);
  if (found == nullptr) throw std::logic_error(fmt::format("job {} is not in the book", number));
  return *found;
}

void JobBook::enter(JobRecord record) {
  if (find(record.number) == nullptr) {
    ++count_of_[record.owner.uid];
    arrays_.add(record);
    if (holds_gpus(record.phase())) holding_.insert(record.number);
  }
  table_.put(std::move(record));
}

JobRecord& JobBook::edit(JobNumber number) {
  changed_.insert(number);
  return table_.edit(number);
}

void JobBook::set_life(JobNumber number, JobLife life) {
  if (holds_gpus(life.state.phase)) {
    holding_.insert(number);
  } else {
    holding_.erase(number);
  }
  edit(number).life = std::move(life);
}

void JobBook::written() {
  for (const JobNumber number : changed_) {
    const JobRecord& job = at(number);
    if (!job.has_ended()) continue;
    const auto count = count_of_.find(job.owner.uid);
    if (--count->second == 0) count_of_.erase(count);
    table_.erase(number);
  }
  changed_.clear();
  on_disk_ = table_.share();
}

std::size_t JobBook::count_of(uid_t user) const {
  const auto found = count_of_.find(user);
  return found == count_of_.end() ? 0 : found->second;
}

}  // namespace trainyard
