#include "sim/learning_times.h"

#include <algorithm>

#include "base/grow.h"

namespace trainyard {

LearningTimes::Course& LearningTimes::course(JobId job) {
  grow_to(courses_, index(job), yard_.workload().jobs.size());
  return courses_[index(job)];
}

void LearningTimes::on_phase(JobId job, Phase /*from*/, Phase to) {
  if (yard_.workload().curve(job) == nullptr) return;
  if (to == Phase::running) {
    Course& course = this->course(job);
    if (course.marks.empty()) course.alone = yard_.rate(job).time_per_work();
    const double share = yard_.work_done(job).seconds() / yard_.job(job).duration.seconds();
    course.marks.push_back({yard_.now(), share});
  }
  if (to == Phase::done) course(job).marks.push_back({yard_.now(), 1});
}

void LearningTimes::on_learnt(JobId job, const LearningPoint& point) {
  if (yard_.workload().curve(job) == nullptr) return;
  course(job).marks.push_back({yard_.now(), point.step / steps_of(yard_.job(job))});
}

/// The first time; what a failure took away and was done again does not count.
Time LearningTimes::when(const Course& course, double share) {
  for (std::size_t i = 1; i < course.marks.size(); ++i) {
    const Mark &before = course.marks[i - 1], &after = course.marks[i];
    if (after.share < share || after.share <= before.share) continue;
    const double part = (share - before.share) / (after.share - before.share);
    const double us = static_cast<double>((after.at - before.at).us) * std::max(part, 0.0);
    return before.at + Duration{static_cast<std::int64_t>(us)};
  }
  return course.marks.back().at;
}

double LearningTimes::share_at(const Course& course, Time time) {
  const auto after = std::ranges::upper_bound(course.marks, time, {}, &Mark::at);
  if (after == course.marks.begin()) return 0;
  const auto before = after - 1;
  if (after == course.marks.end() || after->share <= before->share) return before->share;
  const double part = static_cast<double>((time - before->at).us) /
                      static_cast<double>((after->at - before->at).us);
  return before->share + part * (after->share - before->share);
}

LearningResult LearningTimes::result() const {
  LearningResult result;
  std::vector<JobId> jobs;
  std::vector<double> to_90, to_95, late;
  for (std::size_t i = 0; i < courses_.size(); ++i) {
    const JobId id{static_cast<std::uint32_t>(i)};
    if (courses_[i].marks.empty() || yard_.state(id).phase != Phase::done) continue;
    const Course& course = courses_[i];
    const Job& job = yard_.job(id);
    const LearningCurve& curve = *yard_.workload().curve(id);
    const double share_95 = curve.share_to(0.95);
    const Time at_95 = when(course, share_95);
    jobs.push_back(id);
    to_90.push_back((when(course, curve.share_to(0.90)) - job.submit).seconds());
    to_95.push_back((at_95 - job.submit).seconds());
    result.by_job.push_back({id, to_90.back(), to_95.back()});
    const double rest_alone_s = (1 - share_95) * job.duration.seconds() * course.alone;
    if (rest_alone_s > 0) late.push_back((yard_.state(id).end() - at_95).seconds() / rest_alone_s);
  }
  result.jobs = jobs.size();
  result.to_90_s = summarize(to_90);
  result.to_95_s = summarize(to_95);
  result.late_slowdown = summarize(late);
  add_series(jobs, result);
  return result;
}

/// Of the converged accuracy, by the time since each was submitted; one that is done stays where it
/// is.
void LearningTimes::add_series(const std::vector<JobId>& jobs, LearningResult& result) const {
  constexpr std::int64_t kInstants = 100;
  Duration longest;
  for (const JobId id : jobs)
    longest = std::max(longest, yard_.state(id).end() - yard_.job(id).submit);
  result.interval = Duration{longest.us / kInstants + 1};
  for (std::int64_t i = 0; i <= kInstants && !jobs.empty(); ++i) {
    double sum = 0;
    for (const JobId id : jobs) {
      const LearningCurve& curve = *yard_.workload().curve(id);
      const Time then = yard_.job(id).submit + result.interval * i;
      const double share = share_at(courses_[index(id)], then);
      sum += share > 0 ? curve.at(share) / curve.converged() : 0;
    }
    result.accuracy.push_back(sum / static_cast<double>(jobs.size()));
  }
}

}  // namespace trainyard
