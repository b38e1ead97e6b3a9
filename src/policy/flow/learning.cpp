#include "policy/flow/learning.h"

#include <algorithm>
#include <limits>

namespace trainyard {

double Prospect::after(double seconds) const {
  const double x = x_ + seconds * per_s_;
  return truth_ != nullptr ? truth_->at(std::min(x, 1.0)) : fit_.at(x);
}

double Prospect::seconds_to(double fraction, double left) const {
  if (per_s_ <= 0) return std::numeric_limits<double>::infinity();
  const double x =
      truth_ != nullptr ? truth_->share_to(fraction) : fit_.where(fraction * after(left));
  return std::max(0.0, (x - x_) / per_s_);
}

void Learning::on_phase(JobId job, Phase to) {
  if (to == Phase::starting && yard_.speed() != nullptr)
    time_per_work_[job] = yard_.speed()->rate(yard_.job(job), yard_.placement(job)).time_per_work();
  if (!has_ended(to)) return;
  told_.erase(job);
  time_per_work_.erase(job);
}

void Learning::on_learnt(JobId job, const LearningPoint& point) {
  if (knows_truth_) return;
  Told& told = told_[job];
  told.points.add(point);
  told.has_news = true;
  const double work_s = yard_.work_done(job).seconds();
  if (work_s > 0) told.steps_per_work = point.step / work_s;
}

double Learning::last_step(JobId job) const {
  const auto found = told_.find(job);
  return found == told_.end() ? 0 : found->second.points.last_step();
}

double Learning::time_per_work(JobId job) const {
  const auto found = time_per_work_.find(job);
  return found == time_per_work_.end() ? 1 : found->second;
}

std::optional<Prospect> Learning::of(JobId job) const {
  const double work_s = yard_.work_done(job).seconds(), pace = time_per_work(job);
  if (knows_truth_) {
    const LearningCurve* truth = yard_.workload().curve(job);
    if (truth == nullptr) return {};
    const double whole_s = yard_.job(job).duration.seconds();
    const auto steps = static_cast<double>(yard_.job(job).iterations);
    return Prospect(*truth, work_s / whole_s, 1 / (whole_s * pace), steps > 0 ? steps : whole_s);
  }
  const auto found = told_.find(job);
  if (found == told_.end()) return {};
  const Told& told = found->second;
  if (told.has_news) told.fit = fit_curve(told.points), told.has_news = false;
  if (!told.fit) return {};
  const double steps = std::max(told.points.last_step(), work_s * told.steps_per_work);
  return Prospect(*told.fit, steps, told.steps_per_work / pace);
}

}  // namespace trainyard
