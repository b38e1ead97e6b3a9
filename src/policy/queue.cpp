#include "policy/queue.h"

namespace trainyard {

void Queue::insert(const Entry& entry) {
  grow_to(places_, index(entry.job), 0);
  grow_to(lanes_, index(entry.lane), 0);
  places_[index(entry.job)] = {entry.key, entry.lane};
  Lane& lane = lanes_[index(entry.lane)];
  SortedList<Entry>& jobs = lane.jobs;
  if (jobs.empty()) {
    heads_.insert(entry);
  } else if (entry < jobs.front()) {
    heads_.erase(jobs.front());
    heads_.insert(entry);
  }
  if (!jobs.empty() && entry < jobs.back()) ++lane.overtakings;
  jobs.insert(entry);
  ++size_;
}

void Queue::erase(JobId job) {
  const Entry gone = place_of(job);
  SortedList<Entry>& jobs = lanes_[index(gone.lane)].jobs;
  const bool was_head = jobs.front().job == job;
  jobs.erase(gone);
  if (was_head) {
    heads_.erase(gone);
    if (!jobs.empty()) heads_.insert(jobs.front());
  }
  --size_;
}

void Queue::move(const Entry& entry) {
  erase(entry.job);
  insert(entry);
}

std::size_t Queue::place(JobId job) const {
  const Entry mine = place_of(job);
  std::size_t ahead = 0;
  for (const Lane& lane : lanes_) ahead += lane.jobs.rank(mine);
  return ahead + 1;
}

}  // namespace trainyard
