#include "live/loop/recovery.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "live/loop/births.h"
#include "live/loop/disk_budget.h"

namespace trainyard {

Expected<void> Recovery::recover() {
  if (auto ok = enter_jobs(); !ok) return ok;
  if (auto ok = recall_arrays(); !ok) return ok;
  if (auto ok = machines_.recall(); !ok) return ok;
  recall_settings();
  state_.recall_learnt();
  state_.recall_pause_costs();
  state_.system.log().write(LogLevel::info,
                            fmt::format("the policy is {}; {} jobs have not ended yet",
                                        state_.policy.policy, state_.book.size()));
  auto done = take_up_jobs();
  state_.settings.emplace_back("clock", state_.clock.kept());
  return done;
}

Expected<void> Recovery::enter_jobs() {
  auto jobs = state_.journal.unfinished();
  if (!jobs) return tl::make_unexpected(jobs.error());
  state_.last_number = state_.journal.last_number();
  state_.last_sequence = state_.journal.last_event();
  if (auto ok = recall_folded(*jobs); !ok) return ok;
  if (auto ok = bury_damaged(*jobs); !ok) return ok;
  for (JobRecord& job : *jobs) state_.book.enter(std::move(job));
  state_.book.entered();
  if (const std::string& loss = state_.journal.loss(); !loss.empty())
    state_.system.log().write(
        LogLevel::error,
        fmt::format("THE JOURNAL HAS LOST A PART: {}. Jobs that were submitted or ended in it are "
                    "not known any more; runs that still live keep their GPUs",
                    loss));
  heed_traces();
  return {};
}

/// Tasks of arrays that the last daemon had no time to write the rows of.
Expected<void> Recovery::recall_folded(std::vector<JobRecord>& jobs) {
  auto arrays = state_.journal.folded();
  if (!arrays) return tl::make_unexpected(arrays.error());
  for (Journal::FoldedArray& array : *arrays) {
    std::vector<JobNumber> folded;
    for (JobRecord& task : array.tasks) {
      state_.last_number = std::max(state_.last_number, task.number);
      if (!task.has_ended()) folded.push_back(task.number);
      jobs.push_back(std::move(task));
    }
    const JobRecord* one = folded.empty() ? nullptr : &jobs.back();
    state_.folded.add(array.number, one ? one->owner.uid : 0, folded,
                      one ? disk_use_of(one->spec, 1).history : 0);
  }
  return {};
}

/// What the engine has of jobs that the journal has lost, or knows an earlier state of. No number
/// is used again. A run of a job that is still to run has to end before it does.
void Recovery::heed_traces() {
  for (const auto& [number, trace] : state_.engine.traces()) {
    state_.last_number = std::max(state_.last_number, number);
    const JobRecord* known = state_.book.find(number);
    if (known == nullptr || known->runs >= trace.last_run) continue;
    JobRecord& job = state_.book.edit(number);
    job.runs = trace.last_run;
    job.load.began = Time::never();
    JobLife life = job.life;
    life.room = room_on(trace.places, job.spec.per_worker.gpus, *state_.cluster);
    life.next = {}, life.lead = life.room_for = 0;
    life.state.phase = Phase::absent;
    if (!trace.places.empty()) job.old_run = OldRun::leaving;
    state_.book.set_life(number, std::move(life));
  }
}

/// Those whose rows cannot be read have failed, and that is written down.
Expected<void> Recovery::bury_damaged(std::vector<JobRecord>& jobs) {
  JournalChange change;
  for (JobRecord& job : jobs) {
    if (!job.has_ended()) continue;
    state_.system.log().write(LogLevel::error,
                              fmt::format("job {} has failed: {}", job.number, job.reason));
    job.life.state.since = state_.now();
    change.buried.push_back(&job);
    change.events.push_back(state_.event_of(job, Happening::failed, {{"reason", job.reason}}));
  }
  if (auto ok = state_.journal.commit(change); !ok) return ok;
  std::erase_if(jobs, [](const JobRecord& job) { return job.has_ended(); });
  return {};
}

/// Of arrays with tasks to come, whether one that has ended was not done.
Expected<void> Recovery::recall_arrays() {
  JobNumber last = 0;
  for (const JobNumber number : state_.book.numbers()) {
    const JobNumber array = state_.book.at(number).task.array;
    if (array == 0 || array == last) continue;
    last = array;
    const auto tally = state_.journal.tally(array);
    if (!tally) return tl::make_unexpected(tally.error());
    if (*tally && (*tally)->not_done > 0) state_.book.arrays().add_not_done(array);
  }
  return {};
}

namespace {

Expected<PolicyView> read_policy(const std::string& text) try {
  const auto j = nlohmann::json::parse(text);
  return PolicyView{j.at("policy"), j.value("settings", std::vector<std::string>())};
} catch (const nlohmann::json::exception& problem) {
  return fail("{}", problem.what());
}

}  // namespace

/// The policy, and the machines that an operator has closed.
void Recovery::recall_settings() {
  state_.policy = state_.options.policy;
  machines_.recall_closed();
  const auto kept = state_.journal.setting("policy");
  if (!kept) return;
  const auto policy = read_policy(*kept);
  const PolicyView wanted = with_given_settings(policy.value_or(PolicyView{}), state_.policy);
  const auto spec = policy ? parse(wanted) : tl::make_unexpected(policy.error());
  if (spec) {
    state_.policy = wanted;
  } else {
    state_.system.log().write(
        LogLevel::error,
        fmt::format("the policy that was set last cannot be used, so it is {}, as the "
                    "configuration says: {}",
                    state_.policy.policy, spec.error().message));
  }
}

Expected<void> Recovery::take_up_jobs() {
  if (auto ok = machines_.begin_yard(); !ok) return ok;
  if (const auto spec = parse(state_.policy)) state_.log_idle_stages(*spec);
  state_.clock.advance_to(state_.yard.yard().now());
  for (const JobNumber number : state_.book.numbers())
    if (auto ok = take_up(number); !ok) return ok;
  // After all dependencies are known: the end of one may be the end of others.
  for (const JobNumber number : state_.book.numbers()) {
    const JobRecord& job = state_.book.at(number);
    const bool runs = holds_gpus(job.phase()) || job.old_run != OldRun::none;
    if (job.ending != Ending::none && !runs) runs_.stop_for_good(number);
  }
  return {};
}

Expected<void> Recovery::take_up(JobNumber number) {
  const JobRecord& job = state_.book.at(number);
  const bool is_old = job.old_run != OldRun::none;
  if (!job.born_as.empty()) state_.engine.call(job.born_as, number);
  if (holds_gpus(job.phase()) || is_old) {
    if (auto ok = state_.engine.adopt(job.run()); !ok) return ok;
    const bool leaves = job.phase() == Phase::draining || job.ending != Ending::none ||
                        job.is_broken || (is_old && !job.runs_outside);
    if (leaves) runs_.stop_run(job);
    return {};
  }
  if (job.is_held() && !state_.folded.contains(number)) return gate_.admit(number);
  if (job.is_held()) gate_.admit_soon({number});
  return {};
}

}  // namespace trainyard
