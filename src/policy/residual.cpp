#include "policy/residual.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace trainyard {
namespace {

constexpr const char* kAnybody = "";
constexpr int kAnyTime = -1000;
constexpr std::string_view kName = "lengths/";
/// Of a job that tells how far it is.
constexpr Duration kAlways = Duration::max();
/// Beliefs change at full ones.
constexpr Duration kMoment = minutes(1);

double part_of(Duration work, Duration declared) {
  return static_cast<double>(work.us) / static_cast<double>(declared.us);
}

/// The same of half a microsecond less, so that a length which it has done to the microsecond is
/// not outlived, whichever way it was rounded.
double part_before(Duration work, Duration declared) {
  return (static_cast<double>(work.us) - 0.5) / static_cast<double>(declared.us);
}

Time full_moment_from(Time at) {
  return at + Duration{(kMoment.us - at.us % kMoment.us) % kMoment.us};
}

Duration times(Duration declared, double part) {
  const double us = static_cast<double>(declared.us) * part;
  return Duration{std::llround(std::min(us, static_cast<double>(kLongestDuration.us)))};
}

}  // namespace

/// One that tells how far it is declares that.
Duration Residual::declared_remaining(JobId job) const {
  const Belief& belief = beliefs_[index(job)];
  return belief.until == kAlways ? remaining(job) : yard_.expected_remaining(job, belief.declared);
}

Residual::Classes Residual::classes_of(JobId job) const {
  const Names& users = yard_.workload().users;
  const std::size_t number = index(yard_.job(job).user);
  const std::string user = "=" + std::string(number < users.size() ? users[number] : "");
  const int octave = std::ilogb(beliefs_[index(job)].declared.seconds());
  return {Class{user, octave}, Class{kAnybody, octave}, Class{kAnybody, kAnyTime}};
}

LengthMixture Residual::told_of(const Classes& classes) const {
  static const LengthTable kNothing;
  std::array<const LengthTable*, std::tuple_size_v<Classes>> tables{};
  std::ranges::transform(classes, tables.begin(), [&](const Class& of) {
    const auto table = tables_.find(of);
    return table == tables_.end() ? &kNothing : &table->second.told;
  });
  return LengthMixture(tables);
}

Residual::Belief Residual::believed(JobId job, const LengthMixture& told) const {
  Belief belief = beliefs_[index(job)];
  belief.outlived = std::max(belief.outlived, yard_.work_done(job));
  const LengthOutlook outlook = told.outlook(part_before(belief.outlived, belief.declared),
                                             part_of(kMoment, belief.declared));
  belief.length = std::max(times(belief.declared, outlook.length), microseconds(1));
  belief.until = times(belief.declared, outlook.until) + microseconds(1);
  return belief;
}

bool Residual::Lengths::add(double part) {
  constexpr double kNews = 0.5;
  learnt.add(part);
  if (++since < kNews * told.weight()) return false;
  told = learnt;
  since = 0;
  return true;
}

void Residual::on_phase(JobId job, Phase from, Phase to) {
  if (yard_.now() != finished_at_) learn_all();
  if (from == Phase::absent) {
    grow_to(beliefs_, index(job), yard_.workload().jobs.size());
    declarations_.on_submission(job);
    beliefs_[index(job)] = {.declared = declarations_.of(job)};
  }
  if (from == Phase::running) clear_due(job);
  if (from == Phase::queued) {
    const auto alike = waiting_.find(classes_of(job).front());
    alike->second.erase(job);
    if (alike->second.empty()) waiting_.erase(alike);
  }
  if (to == Phase::queued) waiting_[classes_of(job).front()].insert(job);
  if (to == Phase::done) {
    finished_.push_back(job);
    finished_at_ = yard_.now();
  }
  Belief& belief = beliefs_[index(job)];
  if (belief.until == kAlways || has_ended(to)) return;
  if (from == Phase::absent || to == Phase::queued)
    belief = believed(job, told_of(classes_of(job)));
  if (to == Phase::running) set_due(job);
}

void Residual::on_rate(JobId job) {
  const Belief& belief = beliefs_[index(job)];
  if (belief.due != Time::never()) set_due(job);
}

void Residual::on_estimate(JobId job) {
  Belief& belief = beliefs_[index(job)];
  const Duration told = declarations_.of(job);
  if (told == belief.declared && belief.until != kAlways) return;
  clear_due(job);
  belief.length = told;
  belief.until = kAlways;
}

void Residual::refresh(std::vector<JobId>& changed) {
  learn_all();
  renew_waiting(changed);
  while (next_change() <= yard_.now()) {
    const JobId job = due_.front().job;
    clear_due(job);
    beliefs_[index(job)] = believed(job, told_of(classes_of(job)));
    set_due(job);
    changed.push_back(job);
  }
}

void Residual::renew_waiting(std::vector<JobId>& changed) {
  if (news_.empty()) return;
  for (const auto& [of, jobs] : waiting_) {
    const Classes classes{of, {kAnybody, of.second}, {kAnybody, kAnyTime}};
    if (std::ranges::none_of(classes, [&](const Class& each) { return news_.contains(each); }))
      continue;
    const LengthMixture told = told_of(classes);
    for (const JobId job : jobs) {
      Belief& belief = beliefs_[index(job)];
      if (belief.until == kAlways) continue;
      const Duration before = std::exchange(belief, believed(job, told)).length;
      if (belief.length != before) changed.push_back(job);
    }
  }
  news_.clear();
}

void Residual::set_due(JobId job) {
  clear_due(job);
  Belief& belief = beliefs_[index(job)];
  belief.due = full_moment_from(yard_.end_of(job, belief.until));
  if (belief.due != Time::never()) due_.insert({belief.due, job});
}

void Residual::clear_due(JobId job) {
  Belief& belief = beliefs_[index(job)];
  if (belief.due != Time::never()) due_.erase({belief.due, job});
  belief.due = Time::never();
}

/// Of those that have finished, its user's first.
std::string Residual::grounds(JobId job) const {
  const Belief& belief = beliefs_[index(job)];
  if (belief.until == kAlways) return "it tells so itself";
  const std::string declares = belief.declared == kAssumedTime
                                   ? "an hour is declared, or assumed"
                                   : fmt::format("it declares {}", format(belief.declared));
  for (const Class& of : classes_of(job)) {
    const auto table = tables_.find(of);
    if (table == tables_.end()) continue;
    const LengthTable& told = table->second.told;
    double sum = 0;
    for (const LengthTable::Bin& bin : told.bins()) sum += bin.sum;
    const double percent = 100 * sum / told.weight();
    const char* whose = of.second == kAnyTime  ? "jobs"
                        : of.first == kAnybody ? "jobs that declare about as much"
                                               : "its user's jobs that declare about as much";
    return fmt::format("{}; {} took {} of that on the average", declares, whose,
                       percent < 1 ? "less than 1%" : fmt::format("{:.0f}%", percent));
  }
  return declares;
}

void Residual::save_learnt(Learnt& learnt) const {
  for (const auto& [of, table] : tables_)
    learnt[fmt::format("{}{}/{}", kName, of.second, of.first)] = table.learnt.numbers();
}

void Residual::recall(const Learnt& learnt) {
  each_learnt(learnt, kName, [&](std::string_view name, std::span<const double> numbers) {
    int octave = 0;
    std::string_view user;
    if (!split_number(name, octave, user)) return;
    if (auto table = LengthTable::from(numbers))
      tables_[{std::string(user), octave}] = {*table, *table};
  });
}

/// By what they declared, whatever they told later.
void Residual::learn_all() {
  std::ranges::sort(finished_);
  for (const JobId job : finished_) {
    const Duration took = std::max(yard_.state(job).done, microseconds(1));
    for (const Class& of : classes_of(job))
      if (tables_[of].add(part_of(took, beliefs_[index(job)].declared))) news_.insert(of);
  }
  finished_.clear();
}

}  // namespace trainyard
