// Which held jobs wait for the end of which others, jobs or arrays. One thread.
#pragma once

#include <cstddef>
#include <map>
#include <unordered_map>
#include <vector>

#include "live/job/job_spec.h"

namespace trainyard {

class Dependencies {
 public:
  /// `job` waits for `other`. Each pair once.
  void add(JobNumber job, JobNumber other) {
    waiting_.emplace(other, job);
    ++open_[job];
  }
  /// `other` has ended: the jobs that have waited for it, in the order in which they were added.
  [[nodiscard]] std::vector<JobNumber> settle(JobNumber other) {
    const auto [first, last] = waiting_.equal_range(other);
    std::vector<JobNumber> jobs;
    for (auto each = first; each != last; ++each) jobs.push_back(each->second);
    waiting_.erase(first, last);
    for (const JobNumber job : jobs)
      if (--open_.at(job) == 0) open_.erase(job);
    return jobs;
  }
  [[nodiscard]] bool waits(JobNumber job) const { return open_.contains(job); }

 private:
  std::multimap<JobNumber, JobNumber> waiting_;  // by what they wait for
  std::unordered_map<JobNumber, std::size_t> open_;
};

}  // namespace trainyard
