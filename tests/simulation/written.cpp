#include "written.h"

#include <algorithm>
#include <cmath>

namespace trainyard {
namespace {

const Identity kOperator{"root", 0, 0, Role::operator_};
/// Jumps of the clock are longer; corrections of less than a day add up to less.
constexpr Duration kAccepted = days(2);

}  // namespace

std::string WrittenAudit::look() {
  if (!machine_.is_up()) return {};
  runs_ = machine_.world().runs();
  const std::vector<Erasure> all = machine_.world().erasures();
  while (erasures_.size() < all.size()) {
    erasures_.push_back(all[erasures_.size()]);
    if (auto wrong = look_at(erasures_.back()); !wrong.empty()) return wrong;
  }
  if (machine_.journal().lived() > machine_.up_until(machine_.now()))
    return fmt::format("the daemon counts {} of lived time, and was up for {}",
                       format(machine_.journal().lived()),
                       format(machine_.up_until(machine_.now())));
  return look_at_bytes();
}

Time WrittenAudit::last_end(JobNumber job) const {
  Time last;
  for (const MemoryWorld::Seen& run : runs_)
    if (run.id.job == job && run.has_run) last = std::max(last, run.end.at);
  return last;
}

std::string WrittenAudit::look_at(const Erasure& erasure) {
  const JobNumber job = erasure.job;
  const char* what = erasure.is_checkpoints ? "checkpoints" : "output";
  for (const MemoryWorld::Seen& run : runs_)
    if (run.id.job == job && run.lives)
      return fmt::format("job {} runs, and its {} are erased", job, what);
  if (const auto record = machine_.master().job(kOperator, job); record && !record->has_ended())
    return fmt::format("job {} is {}, and its {} are erased", job, state_name(record->phase()),
                       what);
  const auto keep = erasure.is_checkpoints ? options_.keep_checkpoints : options_.keep_output;
  if (!keep)
    return fmt::format("the checkpoints of job {} are erased, which no option asks for", job);
  const Duration age = machine_.up_until(erasure.at) - machine_.up_until(last_end(job));
  if (age < *keep)
    return fmt::format(
        "the {} of job {} are erased {} after its last run, and are to be kept for {}", what, job,
        format(age), format(*keep));
  const Duration set_by = machine_.set_by(erasure.at);
  const bool is_accepted = std::ranges::any_of(clients_.accepted_clocks(), [&](Duration accepted) {
    return std::abs((set_by - accepted).us) <= kAccepted.us;
  });
  if (!is_accepted)
    return fmt::format(
        "the {} of job {} are erased while the clock is {} off, which no operator has accepted",
        what, job, format(set_by));
  return look_at_rate(erasure);
}

/// A day of the daemon's own is not shorter than one of up time, which may lie in two of them.
std::string WrittenAudit::look_at_rate(const Erasure& last) const {
  const Duration until = machine_.up_until(last.at);
  const auto count = std::ranges::count_if(erasures_, [&](const Erasure& other) {
    return other.is_checkpoints == last.is_checkpoints &&
           machine_.up_until(other.at) > until - days(1);
  });
  const Duration keep = last.is_checkpoints ? *options_.keep_checkpoints : options_.keep_output;
  const auto jobs = static_cast<double>(machine_.journal().last_number());
  const double share =
      static_cast<double>(days(1).us) / static_cast<double>(std::max(keep, days(1)).us);
  const double most =
      std::max(static_cast<double>(options_.least_erased_a_day), std::ceil(2 * jobs * share));
  if (static_cast<double>(count) <= 2 * most) return {};
  return fmt::format("{} jobs have lost their {} within a day, and {} a day may", count,
                     last.is_checkpoints ? "checkpoints" : "output", most);
}

bool WrittenAudit::is_erased(JobNumber job, bool is_checkpoints) const {
  return std::ranges::any_of(erasures_, [&](const Erasure& erasure) {
    return erasure.job == job && erasure.is_checkpoints == is_checkpoints;
  });
}

std::string WrittenAudit::look_at_bytes() {
  for (const MemoryWorld::Seen& run : runs_) {
    std::string& before = output_[run.id];
    if (!run.output.starts_with(before) && !is_erased(run.id.job, false))
      return fmt::format("the output of run {} of job {} is gone", run.id.run, run.id.job);
    before = run.output;
  }
  const auto present = machine_.world().checkpoints();
  for (const auto& [job, before] : checkpoints_) {
    const auto now = present.find(job);
    if ((now == present.end() || !now->second.starts_with(before)) && !is_erased(job, true))
      return fmt::format("checkpoints of job {} are gone", job);
  }
  checkpoints_ = present;
  return {};
}

}  // namespace trainyard
