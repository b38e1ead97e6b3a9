#include "policy/residual.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace trainyard {
namespace {

constexpr const char* kAnybody = "";
constexpr int kAnyTime = -1000;
constexpr std::string_view kName = "lengths/", kTold = "lengths told/", kBeliefs = "beliefs";
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

std::uint32_t Residual::group_of(JobId job) {
  const UserId user = yard_.job(job).user;
  const int octave = std::ilogb(beliefs_[index(job)].declared.seconds());
  const auto next = static_cast<std::uint32_t>(groups_.size());
  const auto [known, is_new] = numbers_.try_emplace({user, octave}, next);
  if (!is_new) return known->second;
  const Names& users = yard_.workload().users;
  const std::string name = "=" + std::string(index(user) < users.size() ? users[index(user)] : "");
  groups_.push_back({.tables = {&tables_[{name, octave}], &tables_[{kAnybody, octave}],
                                &tables_[{kAnybody, kAnyTime}]}});
  return next;
}

const LengthMixture& Residual::told_of(Group& group) const {
  if (!group.told) {
    std::array<const LengthTable*, std::tuple_size_v<decltype(group.tables)>> tables{};
    std::ranges::transform(group.tables, tables.begin(),
                           [](const Lengths* lengths) { return &lengths->told; });
    group.told.emplace(tables);
  }
  return *group.told;
}

Residual::Belief Residual::believed(JobId job) {
  Belief belief = beliefs_[index(job)];
  belief.outlived = std::max(belief.outlived, yard_.work_done(job));
  const LengthOutlook outlook = told_of(groups_[belief.group])
                                    .outlook(part_before(belief.outlived, belief.declared),
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
    beliefs_[index(job)].group = group_of(job);
  }
  if (from == Phase::running) clear_due(job);
  SortedList<JobId>& waiting = groups_[beliefs_[index(job)].group].waiting;
  if (from == Phase::queued) waiting.erase(job);
  if (to == Phase::queued) waiting.insert(job);
  if (to == Phase::done) {
    finished_.push_back(job);
    finished_at_ = yard_.now();
  }
  Belief& belief = beliefs_[index(job)];
  if (belief.until == kAlways || has_ended(to)) return;
  if (from == Phase::absent || to == Phase::queued) belief = believed(job);
  if (to == Phase::running) set_due(job);
}

void Residual::on_rate(JobId job) {
  const bool is_told = beliefs_[index(job)].until == kAlways;
  if (!is_told && yard_.state(job).phase == Phase::running) set_due(job);
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
    beliefs_[index(job)] = believed(job);
    set_due(job);
    changed.push_back(job);
  }
}

void Residual::renew_waiting(std::vector<JobId>& changed) {
  if (news_.empty()) return;
  for (Group& group : groups_) {
    if (group.told) continue;
    group.waiting.each([&](JobId job) {
      Belief& belief = beliefs_[index(job)];
      if (belief.until == kAlways) return true;
      const Duration before = std::exchange(belief, believed(job)).length;
      if (belief.length != before) changed.push_back(job);
      return true;
    });
  }
  news_.clear();
}

/// Has the groups that go by the tables with news mix them anew.
void Residual::forget_told() {
  for (Group& group : groups_)
    if (std::ranges::find_first_of(group.tables, news_) != group.tables.end()) group.told.reset();
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
  const Group& group = groups_[belief.group];
  for (std::size_t i = 0; i < group.tables.size(); ++i) {
    const LengthTable& told = group.tables[i]->told;
    if (told.weight() == 0) continue;
    double sum = 0;
    for (const LengthTable::Bin& bin : told.bins()) sum += bin.sum;
    const double percent = 100 * sum / told.weight();
    const char* whose = i == 2   ? "jobs"
                        : i == 1 ? "jobs that declare about as much"
                                 : "its user's jobs that declare about as much";
    return fmt::format("{}; {} took {} of that on the average", declares, whose,
                       percent < 1 ? "less than 1%" : fmt::format("{:.0f}%", percent));
  }
  return declares;
}

void Residual::save_learnt(Learnt& learnt) const {
  for (const auto& [of, table] : tables_)
    if (table.learnt.weight() > 0) {
      learnt[fmt::format("{}{}/{}", kName, of.second, of.first)] = table.learnt.numbers();
      std::vector<double> told = table.told.numbers();
      told.insert(told.begin(), table.since);
      learnt[fmt::format("{}{}/{}", kTold, of.second, of.first)] = told;
    }
  declarations_.save_learnt(learnt);
  JobNotes notes(learnt, kBeliefs, 5);
  for (std::size_t j = 0; j < beliefs_.size(); ++j) {
    const Belief& belief = beliefs_[j];
    if (const JobId job{static_cast<std::uint32_t>(j)}; !has_ended(yard_.state(job).phase))
      notes.add(job, {number_of(belief.declared), number_of(belief.outlived),
                      number_of(belief.length), number_of(belief.until), number_of(belief.due)});
  }
}

void Residual::recall(const Learnt& learnt) {
  each_learnt(learnt, kName, [&](std::string_view name, std::span<const double> numbers) {
    int octave = 0;
    std::string_view user;
    if (!split_number(name, octave, user)) return;
    if (auto table = LengthTable::from(numbers))
      tables_[{std::string(user), octave}] = {*table, *table};
  });
  each_learnt(learnt, kTold, [&](std::string_view name, std::span<const double> numbers) {
    int octave = 0;
    std::string_view user;
    if (!split_number(name, octave, user) || numbers.empty()) return;
    const auto known = tables_.find({std::string(user), octave});
    const auto told = LengthTable::from(numbers.subspan(1));
    if (known == tables_.end() || !told) return;
    known->second.told = *told, known->second.since = numbers[0];
  });
  for (Group& group : groups_) group.told.reset();
}

void Residual::recall_jobs(const Learnt& learnt) {
  declarations_.recall_jobs(learnt);
  each_note(learnt, kBeliefs, 5, beliefs_.size(), [&](JobId job, std::span<const double> kept) {
    if (index(job) >= yard_.jobs() || has_ended(yard_.state(job).phase)) return;
    Belief& belief = beliefs_[index(job)];
    clear_due(job);
    const bool waits = groups_[belief.group].waiting.erase(job);
    const Duration least = microseconds(1);
    belief.declared = std::clamp(duration_of(kept[0]), least, kLongestDuration);
    belief.outlived = std::min(duration_of(kept[1]), kLongestDuration);
    belief.length = std::clamp(duration_of(kept[2]), least, kLongestDuration);
    belief.until = duration_of(kept[3]);
    belief.group = group_of(job);
    if (waits) groups_[belief.group].waiting.insert(job);
    if (yard_.state(job).phase != Phase::running) return;
    belief.due = time_of(kept[4]);
    if (belief.due != Time::never()) due_.insert({belief.due, job});
  });
}

/// By what they declared, whatever they told later.
void Residual::learn_all() {
  std::ranges::sort(finished_);
  for (const JobId job : finished_) {
    const Duration took = std::max(yard_.state(job).done, microseconds(1));
    const Belief& belief = beliefs_[index(job)];
    for (Lengths* of : groups_[belief.group].tables)
      if (of->add(part_of(took, belief.declared))) news_.push_back(of);
  }
  finished_.clear();
  if (!news_.empty()) forget_told();
}

}  // namespace trainyard
