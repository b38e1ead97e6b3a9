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
    count(record, 1);
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
    count(job, -1);
    table_.erase(number);
  }
  changed_.clear();
  on_disk_ = table_.share();
}

JobBook::Held JobBook::held_by(uid_t user) const {
  const auto found = held_by_.find(user);
  return found == held_by_.end() ? Held{} : found->second;
}

void JobBook::count(const JobRecord& job, int change) {
  const auto own = held_by_.try_emplace(job.owner.uid).first;
  const auto n = static_cast<std::size_t>(change);  // -1 wraps, and so do the sums
  for (Held* held : {&own->second, &all_}) {
    held->jobs += n;
    held->bytes += n * memory_of(job.spec);
  }
  if (own->second.jobs == 0) held_by_.erase(own);
}

}  // namespace trainyard
