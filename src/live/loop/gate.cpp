#include "live/loop/gate.h"

#include <nlohmann/json.hpp>
#include <stdexcept>

namespace trainyard {
namespace {

using nlohmann::json;

std::string not_done(JobNumber other) {
  return fmt::format("job {}, which it waits for, is not done", other);
}

}  // namespace

Expected<void> Gate::admit(JobNumber number) {
  state_.unfold(number);
  const std::vector<JobNumber>& after = state_.book.at(number).spec.after;
  for (const JobNumber other : std::set<JobNumber>(after.begin(), after.end())) {
    const auto phase = end_of(other);
    if (!phase) return tl::make_unexpected(phase.error());
    if (*phase == Phase::done) continue;
    if (has_ended(*phase)) {
      end(number, EventKind::cancelled, not_done(other));
      return {};
    }
    state_.book.dependencies().add(number, other);
  }
  if (!state_.book.dependencies().waits(number)) release(number);
  return {};
}

void Gate::admit_soon(const std::vector<JobNumber>& jobs) {
  to_admit_.insert(to_admit_.end(), jobs.begin(), jobs.end());
}

void Gate::admit_some() {
  for (std::size_t i = 0; i < state_.options.admitted_at_once && !to_admit_.empty(); ++i) {
    const JobRecord* job = state_.book.find(to_admit_.front());
    to_admit_.pop_front();
    // One that was cancelled meanwhile has ended. Unreadable now: it is held until the next start.
    if (job != nullptr && job->is_held()) (void)admit(job->number);
  }
}

void Gate::release(JobNumber number) {
  const JobRecord& held = state_.book.at(number);
  if (!state_.yard.misfit(held.spec).empty() || !state_.book.arrays().take(held)) return;
  JobRecord& job = state_.book.edit(number);
  job.eligible = std::min(job.eligible, state_.now());
  if (const Verdict verdict = state_.yard.submit(job, state_.now()); verdict != Verdict::ok)
    throw std::logic_error(fmt::format("job {} cannot be queued: {}", number, describe(verdict)));
  state_.update_book();
  state_.note(job, Happening::queued, json::object());
  state_.decisions.is_due = true;
}

void Gate::end(JobNumber number, EventKind kind, const std::string& reason) {
  if (state_.book.at(number).has_ended()) return;
  end_alone(number, kind, reason);
  if (is_settling_) return;
  is_settling_ = true;
  for (; !ended_.empty(); ended_.pop_front()) {
    const JobNumber next = ended_.front();
    const bool done = state_.book.at(next).phase() == Phase::done;
    settle_dependents(next, done);
    leave_array(next, done);
  }
  is_settling_ = false;
}

void Gate::end_alone(JobNumber number, EventKind kind, const std::string& reason) {
  JobRecord& job = state_.book.edit(number);
  job.reason = reason;
  if (job.is_held()) {  // the yard does not know it
    job.life.state.phase = kind == EventKind::finished  ? Phase::done
                           : kind == EventKind::crashed ? Phase::failed
                                                        : Phase::cancelled;
    job.life.state.since = state_.now();
  } else {
    (void)state_.tell(kind, number);
  }
  Counters& counters = state_.counters;
  json details{{"reason", job.reason}};
  if (job.exit_status) details["exit_status"] = *job.exit_status;
  switch (kind) {
    case EventKind::finished:
      ++counters.done;
      state_.note(job, Happening::done, details);
      break;
    case EventKind::crashed:
      ++counters.failed;
      state_.note(job, Happening::failed, details);
      break;
    default:
      ++counters.cancelled;
      state_.note(job, Happening::cancelled, details);
  }
  if (!job.born_as.empty()) state_.later([this, run = job.run()] { state_.engine.forget(run); });
  state_.later([this, number] { state_.engine.end(number); });
  state_.decisions.is_due = true;
  ended_.push_back(number);
}

void Gate::settle_dependents(JobNumber ended, bool done) {
  for (const JobNumber number : state_.book.dependencies().settle(ended)) {
    const JobRecord* job = state_.book.find(number);
    if (job == nullptr || !job->is_held()) continue;
    if (!done) {
      end(number, EventKind::cancelled, not_done(ended));
    } else if (!state_.book.dependencies().waits(number)) {
      release(number);
    }
  }
}

/// Its slot is another's; and with the first that is not done, or the last that is, it is known how
/// the array ended.
void Gate::leave_array(JobNumber number, bool done) {
  const JobRecord& task = state_.book.at(number);
  const JobNumber array = task.task.array;
  if (array == 0) return;
  ArraySlots& arrays = state_.book.arrays();
  const bool was_lost = arrays.not_done(array);
  arrays.leave(task, done);
  while (const auto next = arrays.next(array)) {
    const JobRecord* waiting = state_.book.find(*next);
    if (waiting != nullptr && waiting->ending == Ending::none) release(*next);
  }
  if (!was_lost && (!done || !arrays.contains(array))) settle_dependents(array, done);
}

Expected<Phase> Gate::end_of(JobNumber number) const {
  if (const JobRecord* job = state_.book.find(number))
    return job->has_ended() ? job->phase() : Phase::absent;
  const ArraySlots& arrays = state_.book.arrays();
  if (arrays.contains(number)) return arrays.not_done(number) ? Phase::failed : Phase::absent;
  const auto job = state_.journal.find(number);
  if (!job) return tl::make_unexpected(job.error());
  if (*job) return (*job)->phase();
  const auto array = state_.journal.tally(number);
  if (!array) return tl::make_unexpected(array.error());
  if (!*array) return Phase::cancelled;
  return (*array)->not_done > 0 ? Phase::failed : Phase::done;
}

}  // namespace trainyard
