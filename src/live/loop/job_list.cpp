#include "live/loop/job_list.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>

namespace trainyard {
namespace {

bool is_wanted(const JobRecord& job, const JobFilter& filter) {
  return (!filter.user || *filter.user == job.owner.user) &&
         (!filter.uid || *filter.uid == job.owner.uid) &&
         (!filter.name || *filter.name == job.spec.name) &&
         (!filter.job_class || *filter.job_class == job.spec.job_class) &&
         (!filter.array || *filter.array == job.task.array) &&
         (filter.states.empty() ||
          std::ranges::find(filter.states, job.shown_phase()) != filter.states.end());
}

/// Tasks of an array that wait in the same state become one: that with the highest number stands
/// for all, and `folded` has theirs. Of arrays that are listed all waiting tasks are looked for,
/// also beyond the end of the page; their numbers follow their array's.
class Folder {
 public:
  explicit Folder(JobPage& page) : page_(page) {}

  /// Whether another stands for it.
  bool takes(const JobRecord& job) {
    if (!waits_in_array(job)) return false;
    const auto known = standing_for_.find({job.task.array, job.phase()});
    if (known == standing_for_.end()) return false;
    page_.folded[known->second].push_back(job.task.task);
    return true;
  }
  void list(const JobRecord& job) {
    if (!waits_in_array(job)) return;
    standing_for_[{job.task.array, job.phase()}] = job.number;
    page_.folded[job.number].push_back(job.task.task);
  }
  /// Whether no job from this number down is a task of an array that is listed.
  [[nodiscard]] bool is_past(JobNumber number) const {
    return standing_for_.empty() || number < standing_for_.begin()->first.first;
  }

 private:
  static bool waits_in_array(const JobRecord& job) {
    if (job.task.array == 0 || job.is_paused()) return false;
    return job.is_held() || job.phase() == Phase::queued;
  }

  JobPage& page_;
  std::map<std::pair<JobNumber, Phase>, JobNumber> standing_for_;
};

JobPage unfinished(const JobTable& jobs, const JobFilter& filter) {
  JobPage page;
  Folder folder(page);
  jobs.each_newest_first(filter.before, [&](const JobRecord& job) {
    if (!is_wanted(job, filter)) return true;
    if (filter.fold && folder.takes(job)) return true;
    page.more = page.jobs.size() == filter.limit;
    if (page.more) return filter.fold && !folder.is_past(job.number);
    page.jobs.push_back(job);
    if (filter.fold) folder.list(job);
    return true;
  });
  for (auto& [number, tasks] : page.folded) std::ranges::sort(tasks);
  return page;
}

bool asks_for_ended(const JobFilter& filter) {
  return filter.states.empty() || std::ranges::any_of(filter.states, has_ended);
}

/// `ended` into `page`, by number; what is in both is taken as it was before its end.
void merge(std::vector<JobRecord> ended, std::size_t limit, JobPage& page) {
  std::vector<JobRecord>& all = page.jobs;
  const auto middle = all.insert(all.end(), std::make_move_iterator(ended.begin()),
                                 std::make_move_iterator(ended.end()));
  std::ranges::inplace_merge(all, middle, std::ranges::greater(), &JobRecord::number);
  const auto is_same = [](const JobRecord& one, const JobRecord& other) {
    return one.number == other.number;
  };
  all.erase(std::unique(all.begin(), all.end(), is_same), all.end());
  if (all.size() <= limit) return;
  page.more = true;
  all.erase(all.begin() + static_cast<std::ptrdiff_t>(limit), all.end());
  std::erase_if(page.folded, [&](const auto& fold) { return fold.first < all.back().number; });
}

}  // namespace

Expected<JobPage> list_jobs(const Snapshot& snapshot, const Journal& journal,
                            const JobFilter& filter) {
  JobPage page = unfinished(snapshot.jobs, filter);
  if (!asks_for_ended(filter)) return page;
  JobFilter rest = filter;
  if (page.more) rest.above = page.jobs.back().number;  // no other is on this page
  auto ended = journal.find_ended(rest);
  if (!ended) return tl::make_unexpected(ended.error());
  page.more = page.more || ended->more;
  merge(std::move(ended->jobs), filter.limit, page);
  return page;
}

}  // namespace trainyard
