#include "policy/queue.h"

namespace trainyard {

void Queue::insert(JobId job, LaneId lane, std::int64_t key) {
  grow_to(places_, index(job), 0);
  grow_to(lanes_, index(lane), 0);
  places_[index(job)] = {key, lane};
  const Entry entry{key, job, lane};
  SortedList<Entry>& jobs = lanes_[index(lane)];
  if (jobs.empty()) {
    heads_.insert(entry);
  } else if (entry < jobs.front()) {
    heads_.erase(jobs.front());
    heads_.insert(entry);
  }
  jobs.insert(entry);
  ++size_;
}

void Queue::erase(JobId job) {
  const Entry gone = entry(job);
  SortedList<Entry>& jobs = lanes_[index(gone.lane)];
  const bool was_head = jobs.front().job == job;
  jobs.erase(gone);
  if (was_head) {
    heads_.erase(gone);
    if (!jobs.empty()) heads_.insert(jobs.front());
  }
  --size_;
}

void Queue::move(JobId job, LaneId lane, std::int64_t key) {
  erase(job);
  insert(job, lane, key);
}

std::size_t Queue::place(JobId job) const {
  const Entry mine = entry(job);
  std::size_t ahead = 0;
  for (const SortedList<Entry>& lane : lanes_) ahead += lane.rank(mine);
  return ahead + 1;
}

}  // namespace trainyard
