#include "live/loop/past_jobs.h"

#include <algorithm>

#include "policy/estimator.h"

namespace trainyard {

Duration declared_time(const JobRecord& job) {
  return job.spec.time.us > 0 ? job.spec.time : kAssumedTime;
}

Expected<void> PastJobs::follow(const JobTable& open) {
  if (auto ok = has_begun_ ? read_those_that_ended(open) : read_first(); !ok) return ok;
  has_begun_ = true;
  open_ = open.numbers();
  if (!open_.empty()) last_ = std::max(last_, open_.back());
  return {};
}

Expected<void> PastJobs::read_first() {
  JobFilter newest;
  newest.limit = kMost;
  auto page = journal_.find_ended(newest);
  if (!page) return tl::make_unexpected(page.error());
  std::ranges::stable_sort(page->jobs, {},
                           [](const JobRecord& job) { return job.life.state.since; });
  for (JobRecord& job : page->jobs) add(std::move(job));
  return {};
}

/// Those that were open, as many of the last as are kept, and those that have come and gone since.
Expected<void> PastJobs::read_those_that_ended(const JobTable& open) {
  std::erase_if(open_, [&](JobNumber number) { return open.find(number) != nullptr; });
  if (open_.size() > kMost) open_.erase(open_.begin(), open_.end() - kMost);
  for (const JobNumber number : open_) {
    auto job = journal_.find(number);
    if (!job) return tl::make_unexpected(job.error());
    if (*job && (*job)->has_ended()) add(*std::move(*job));
  }
  for (;;) {
    auto page = journal_.ended_after({}, last_);
    if (!page) return tl::make_unexpected(page.error());
    if (page->empty()) return {};
    for (JobRecord& job : *page) add(std::move(job));
  }
}

void PastJobs::add(JobRecord job) {
  last_ = std::max(last_, job.number);
  const JobState& state = job.life.state;
  if (state.phase == Phase::done) lengths_.add(job.owner.user, declared_time(job), state.done);
  job.curve = {};
  ended_.push_back(std::move(job));
  if (ended_.size() > kMost) ended_.pop_front();
}

std::vector<const JobRecord*> PastJobs::came(const JobTable& open, Time now) const {
  std::vector<const JobRecord*> jobs;
  const auto add_late = [&](const JobRecord& job) {
    if (job.submitted > now - kOfLate && job.submitted <= now) jobs.push_back(&job);
  };
  for (const JobRecord& job : ended_) add_late(job);
  open.each_newest_first(0, [&](const JobRecord& job) {
    add_late(job);
    return true;
  });
  std::ranges::sort(jobs, {}, &JobRecord::number);
  if (jobs.size() > kMostComing) jobs.erase(jobs.begin(), jobs.end() - kMostComing);
  return jobs;
}

template <class Visit>
void PastJobs::each_promise(const JobTable& open, Visit visit) const {
  std::vector<const JobRecord*> promised;
  const auto look_at = [&](const JobRecord& job) {
    if (job.promise.made != Time::never()) promised.push_back(&job);
    return true;
  };
  for (const JobRecord& job : ended_) look_at(job);
  open.each_newest_first(0, look_at);
  std::ranges::sort(promised, {},
                    [](const JobRecord* job) { return std::pair(job->promise.made, job->number); });
  for (const JobRecord* job : promised) visit(*job);
}

TrackRecord PastJobs::record(const JobTable& open) const {
  TrackRecord record;
  each_promise(open, [&](const JobRecord& job) {
    record.promise(job.number, job.promise.made, job.promise.drawn);
    if (const Time start = job.life.state.first_start; start != Time::never())
      record.started(job.number, start);
    else if (job.has_ended())
      record.withdraw(job.number);
  });
  return record;
}

PromiseTallies PastJobs::tally(const JobTable& open) const {
  PromiseTallies tallies;
  each_promise(open, [&](const JobRecord& job) {
    const auto limit = promise_limit(job.promise.told, job.promise.made);
    const Time start = job.life.state.first_start;
    if (limit && start != Time::never()) tallies[*limit].add(job.promise.told, start);
  });
  return tallies;
}

}  // namespace trainyard
