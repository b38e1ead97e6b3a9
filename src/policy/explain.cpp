// Why a job waits, in words: what it lacks, who is ahead of it, and what is known of when.
#include <algorithm>

#include "policy/staged_policy.h"
#include "policy/wait_reasons.h"

namespace trainyard {

/// With what is believed of its length, where that is more than what it declares, what its seconds
/// are worth, and when it becomes overdue.
WaitReason StagedPolicy::explain(JobId job) const {
  WaitReason reason = reason_of(job);
  if (const std::string gain = context_.gain_of(job); !gain.empty()) reason.sentence += "; " + gain;
  if (yard_.state(job).phase != Phase::queued) return reason;
  for (const std::string& more : {context_.belief_of(job), context_.worth_of(job), bound_of(job)})
    if (!more.empty()) reason.sentence += "; " + more;
  return reason;
}

std::string StagedPolicy::bound_of(JobId job) const {
  const Overdue& overdue = context_.overdue();
  const Duration limit = context_.wait_limit();
  if (!stages_.bounds_waits || limit == Duration::max()) return {};
  if (!overdue.is_overdue(job))
    return fmt::format("goes before all others once it has waited for {}", format(limit));
  std::string when;
  if (!has_machines(job))
    when = " once its machines are up";
  else if (!overdue.is_due(job))
    when = fmt::format(" in {} at the soonest", format(overdue.next() - yard_.now()));
  return fmt::format("goes before all others{}, as it has waited for longer than {}", when,
                     format(limit));
}

WaitReason StagedPolicy::reason_of(JobId job) const {
  const JobState& state = yard_.state(job);
  if (state.phase == Phase::reserved) return room_being_made(yard_, job);
  if (state.phase != Phase::queued) return does_not_wait(yard_, job);

  const Shape& shape = yard_.shape(job);
  const Reach reach = stages_.place->reach(job);
  const JobId late = overdue();
  const JobId head = late != kNoJob ? late : queue_.front().job;
  const std::size_t place = queue_.place(job);
  // Who runs longer than estimated makes a reservation late: then it is now, as soon as they end.
  std::optional<Time> reserved = keeper(late != kNoJob).reserved_start(head);
  if (reserved) reserved = std::max(*reserved, yard_.now());
  std::string lacks = shortage(yard_, shape, reach.machines);
  if (context_.regards().classes && yard_.job(job).job_class == JobClass::trial &&
      !context_.rights().acts_as_trial(job))
    lacks += std::string(lacks.empty() ? "" : "; ") +
             "waits like a batch job until its user's share of trial jobs is paid back";
  // It may have room, and decline it.
  if (const std::string close = stages_.place->holds_out_for(job);
      !close.empty() && yard_.free().of(shape.kind).free_gpus >= shape.gpus())
    return {"placement", close, place, {}};
  const bool is_kept_free = lacks.empty() && has_rooms_kept_from(job);
  if (is_kept_free) lacks = stages_.rooms->describe(job);
  WaitReason reason{is_kept_free ? "priority" : "resources", lacks, place, {}};
  if (const auto expected = forecast_of(job, head))
    reason.expected_start = expected->start, reason.relies_on = expected->relies_on;
  if (job == head) {
    if (reserved) reason.expected_start = reserved;
    if (lacks.empty()) reason.sentence = "is next, and waits for the decision";
    return reason;
  }
  const std::string head_lacks =
      shortage(yard_, yard_.shape(head), stages_.place->reach(head).machines);
  const std::string behind =
      fmt::format("behind job {}{}", yard_.workload().job_name(head),
                  head_lacks.empty() ? "" : fmt::format(" ({})", head_lacks));
  if (!lacks.empty()) {
    reason.sentence = fmt::format("{}; {}", lacks, behind);
  } else if (reserved) {
    reason.token = "reservation";
    reason.sentence = fmt::format("would delay job {}, which is to start in {} at the latest",
                                  yard_.workload().job_name(head), format(*reserved - yard_.now()));
  } else {
    reason.token = "priority";
    reason.sentence = behind;
  }
  return reason;
}

/// Of a job that is not too far back in the queue to tell.
std::optional<Forecast> StagedPolicy::forecast_of(JobId job, JobId head) const {
  constexpr std::size_t kDepth = 64;
  const std::size_t place = queue_.place(job);
  if (place > kDepth) return {};
  std::vector<Queue::Entry> entries;
  queue_.collect(
      place, [](LaneId) { return false; }, entries);
  std::vector<JobId> waiting{head};
  for (const Queue::Entry& entry : entries)
    if (job != head && entry.job != head) waiting.push_back(entry.job);
  return forecast(
      yard_, waiting, [this](JobId other) { return stages_.place->reach(other).machines; },
      stages_.backfill->can_starve());
}

}  // namespace trainyard
