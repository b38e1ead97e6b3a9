// What happens to jobs: what the engine reports, what the policy orders, what time brings.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "live/loop/yardmaster.h"

namespace trainyard {
namespace {

using nlohmann::json;

/// A run that ends sooner than this without having been told to was of no use.
constexpr Duration kQuick = seconds(10);
constexpr std::uint32_t kMostQuickReturns = 10;
constexpr Duration kAfterFailedStart = seconds(1), kAfterFailedStartAtMost = minutes(1);
constexpr Duration kHeardWithin = seconds(1);  // of an end, while the daemon is there
constexpr Duration kBetweenCompactions = hours(1);
constexpr std::size_t kCompactedAtOnce = 1000;

std::string details_of(std::uint32_t run, const std::string& why) {
  return json{{"run", run}, {"why", why}}.dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace

JobRecord* Yardmaster::known(JobNumber number) {
  const auto found = jobs_.find(number);
  return found == jobs_.end() ? nullptr : &found->second;
}

LiveEvent Yardmaster::event_of(const JobRecord& job, std::string kind, std::string details) {
  return {++last_sequence_, now(), std::move(kind), job.number, job.owner.user, std::move(details)};
}

void Yardmaster::note(const JobRecord& job, std::string kind, std::string details) {
  happened_.push_back(event_of(job, std::move(kind), std::move(details)));
  changed_.insert(job.number);
}

// --- What the policy orders ----------------------------------------------------------------------

void Yardmaster::carry_out(const LiveYard::Order& order) {
  // Jobs end in the yard after they have ended in fact: it is gone, perhaps from jobs_ too.
  if (order.kind == Order::Kind::stop) return;
  JobRecord& job = jobs_.at(order.job);
  if (order.kind == Order::Kind::start) return launch(job);
  ++counters_.paused;
  note(job, "pausing", json{{"run", job.runs}}.dump());
  acts_.emplace_back([this, number = job.number] {
    if (const JobRecord* victim = known(number)) stop_run(*victim);
  });
}

Verdict Yardmaster::tell(EventKind kind, JobRecord& job) {
  const Verdict verdict = yard_.apply(kind, job.number, now());
  update_records();
  return verdict;
}

void Yardmaster::launch(JobRecord& job) {
  if (job.stopping) return end(job, EventKind::cancelled, job.reason);
  if (job.has_started) ++job.restarts;
  job.has_started = false;
  ++job.runs;
  ++counters_.started;
  Launch launch{job.run(),    job.owner, nullptr, yard_.demand(job.spec), yard_.places(job.number),
                job.restarts, job.task};
  json gpus = json::array();
  for (const WorkerPlace& worker : launch.workers)
    for (const std::int32_t gpu : worker.gpus) gpus.push_back(gpu);
  note(job, "starting", json{{"run", job.runs}, {"gpus", gpus}}.dump());
  acts_.emplace_back([this, launch = std::move(launch)]() mutable {
    JobSpec whole = jobs_.at(launch.id.job).spec;
    Expected<void> begun;
    if (auto payload = journal_.payload(jobs_.at(launch.id.job).submission())) {
      put_payload(whole, std::move(*payload));
      launch.spec = &whole;
      begun = engine_.start(launch);
    } else {
      begun = tl::make_unexpected(payload.error());
    }
    if (!begun) return wait_for_the_machine(jobs_.at(launch.id.job), begun.error().message);
    after_failed_start_ = {};
  });
}

/// It could not be started, by no fault of its own (the disk is full): tried again, however long
/// that lasts, but ever more rarely.
void Yardmaster::wait_for_the_machine(JobRecord& job, const std::string& why) {
  after_failed_start_ =
      std::clamp(after_failed_start_ * 2, kAfterFailedStart, kAfterFailedStartAtMost);
  no_decision_before_ = now() + after_failed_start_;
  decide_ = true;
  if (job.stopping) return end(job, EventKind::cancelled, job.reason);
  job.reason = "could not be started: " + why;
  (void)tell(EventKind::lost, job);
  note(job, "lost", details_of(job.runs, job.reason));
}

/// What its user declared, and a last resort for jobs that ignore it. A job that has used up its
/// time, or that an operator ends, gets no more grace than is usual; and one that was asked before
/// its limit is not asked again when it reaches it.
void Yardmaster::stop_run(const JobRecord& job) {
  constexpr Duration kForcedGrace = seconds(30);
  const bool forced = job.stopping && job.forced;
  const Duration grace = forced ? std::min(job.spec.grace, kForcedGrace) : job.spec.grace;
  const bool was_asked = job.stopping && job.out_of_time && asked_after(job.spec).us > 0;
  const StopSignal signal = was_asked ? StopSignal{} : job.spec.signal;
  (void)engine_.stop({job.run(), signal, grace, options_.kill_wait});
}

/// It was told to end, and that is on disk.
void Yardmaster::stop_for_good(JobRecord& job) {
  if (job.has_ended()) return;
  if (!holds_gpus(job.phase()) && !job.left_behind)
    return end(job, EventKind::cancelled, job.reason);
  acts_.emplace_back([this, number = job.number] {
    if (const JobRecord* stopped = known(number)) stop_run(*stopped);
  });
}

// --- What the engine reports ---------------------------------------------------------------------

void Yardmaster::hear(const RunReport& report) {
  JobRecord* job = known(report.id.job);
  if (job == nullptr || job->runs != report.id.run || job->has_ended()) {
    if (report.kind != RunReport::Kind::progress && report.kind != RunReport::Kind::started)
      engine_.forget(report.id);
    return;
  }
  switch (report.kind) {
    case RunReport::Kind::progress:
      job->progress = report.progress;
      if (!job->is_held()) job->curve.add(report.progress, yard_.ran(job->number, now()));
      yard_.learn(*job, now());
      changed_.insert(job->number);
      return;
    case RunReport::Kind::started:
      return hear_started(*job);
    default:
      acts_.emplace_back([this, id = report.id] { engine_.forget(id); });
      return hear_end(*job, report);
  }
}

void Yardmaster::hear_started(JobRecord& job) {
  if (job.phase() != Phase::starting) return;
  job.has_started = true;
  if (!job.stopping) job.reason.clear();
  (void)tell(EventKind::loaded, job);
  note(job, "running", json{{"run", job.runs}}.dump());
  decide_ = true;
}

/// Paused or finished is told from what was intended, never from the exit status.
void Yardmaster::hear_end(JobRecord& job, const RunReport& report) {
  const bool exited = report.kind == RunReport::Kind::exited;
  if (exited) job.exit_status = report.exit_status;
  if (job.left_behind) return hear_end_left_behind(job, report);
  if (!holds_gpus(job.phase())) return;
  if (exited) hear_started(job);
  if (job.stopping && job.out_of_time && exited && report.asked_requeue)
    job.stopping = job.out_of_time = job.forced = false;
  if (job.stopping)
    return end(job, job.out_of_time ? EventKind::crashed : EventKind::cancelled, job.reason);
  if (report.kind == RunReport::Kind::refused) return end(job, EventKind::crashed, report.why);
  if (report.kind == RunReport::Kind::lost) return come_back(job, EventKind::lost, report.why);
  if (job.phase() == Phase::draining) return hear_left(job, report.exit_status);
  if (report.asked_requeue) return come_back(job, EventKind::returned, "asked to run again");
  // It may have ended while nobody was there to see it.
  const bool unseen = now() - kHeardWithin > report.at;
  const Time ended = unseen ? std::max(report.at, job.life.state.since) : now();
  yard_.set_work(job.number, ended);
  end_by_itself(job, report);
  job.life.state.since = ended;
}

/// It was told to leave, and has.
void Yardmaster::hear_left(JobRecord& job, int exit_status) {
  job.pause_took = now() - job.life.state.since;
  job.quick_returns = 0;
  (void)tell(EventKind::drained, job);
  yard_.learn(job, now());
  note(job, "paused", json{{"run", job.runs}, {"exit_status", exit_status}}.dump());
  decide_ = true;
}

void Yardmaster::end_by_itself(JobRecord& job, const RunReport& report) {
  if (report.exit_status == 0) return end(job, EventKind::finished, "");
  end(job, EventKind::crashed,
      report.why.empty() ? fmt::format("exit status {}", report.exit_status) : report.why);
}

/// What ran on when the daemon came back to another machine. If it ended before anybody told it to,
/// it has ended; else it may start again now.
void Yardmaster::hear_end_left_behind(JobRecord& job, const RunReport& report) {
  job.left_behind = false;
  changed_.insert(job.number);
  if (job.stopping) return stop_for_good(job);
  const bool by_itself = report.kind == RunReport::Kind::exited && !job.was_leaving &&
                         !report.asked_requeue && report.at < wall_at_start_;
  by_itself ? end_by_itself(job, report) : release(job);
}

/// Back to the queue without having been told to, but not for ever.
void Yardmaster::come_back(JobRecord& job, EventKind kind, const std::string& why) {
  const bool quick = now() - job.life.state.since < kQuick;
  job.quick_returns = quick ? job.quick_returns + 1 : 0;
  decide_ = true;
  if (job.quick_returns > kMostQuickReturns)
    return end(job, EventKind::crashed,
               fmt::format("came back {} times within seconds: {}", job.quick_returns, why));
  if (kind == EventKind::returned) {
    job.done_when_returned = yard_.ran(job.number, now());
    job.reason.clear();
    yard_.learn(job, now());
  }
  (void)tell(kind, job);
  if (quick && kind == EventKind::lost) no_decision_before_ = now() + kAfterFailedStart;
  note(job, kind == EventKind::lost ? "lost" : "returned", details_of(job.runs, why));
}

// --- Ends ----------------------------------------------------------------------------------------

void Yardmaster::end(JobRecord& job, EventKind kind, const std::string& reason) {
  if (job.has_ended()) return;
  job.reason = reason;
  if (job.is_held()) {  // the yard does not know it
    job.life.state.phase = kind == EventKind::finished  ? Phase::done
                           : kind == EventKind::crashed ? Phase::failed
                                                        : Phase::cancelled;
    job.life.state.since = now();
  } else {
    (void)tell(kind, job);
  }
  const bool done = kind == EventKind::finished;
  const char* name = done ? "done" : kind == EventKind::crashed ? "failed" : "cancelled";
  ++(done ? counters_.done : kind == EventKind::crashed ? counters_.failed : counters_.cancelled);
  json details{{"reason", job.reason}};
  if (job.exit_status) details["exit_status"] = *job.exit_status;
  note(job, name, details.dump(-1, ' ', false, json::error_handler_t::replace));
  over_.push_back(job.number);
  decide_ = true;
  settle_dependents(job.number, done);
  leave_array(job, done);
}

/// Its slot is another's; and with the first that is not done, or the last that is, it is known how
/// the array ended.
void Yardmaster::leave_array(const JobRecord& task, bool done) {
  const JobNumber array = task.task.array;
  if (array == 0) return;
  const bool was_lost = arrays_.not_done(array);
  arrays_.leave(task, done);
  while (const auto next = arrays_.next(array))
    if (JobRecord* waiting = known(*next); waiting != nullptr && !waiting->stopping)
      release(*waiting);
  if (!was_lost && (!done || !arrays_.contains(array))) settle_dependents(array, done);
}

void Yardmaster::settle_dependents(JobNumber ended, bool done) {
  const auto [first, last] = dependents_.equal_range(ended);
  std::vector<JobNumber> waiting;
  for (auto d = first; d != last; ++d) waiting.push_back(d->second);
  dependents_.erase(first, last);
  for (const JobNumber number : waiting) {
    JobRecord* job = known(number);
    if (job == nullptr || !job->is_held()) continue;
    if (!done) {
      end(*job, EventKind::cancelled,
          fmt::format("job {}, which it waits for, is not done", ended));
    } else if (--job->waits_for == 0) {
      release(*job);
    }
  }
}

/// Nothing but the policy keeps it from starting any more, if it fits this machine at all and its
/// array lets it.
void Yardmaster::release(JobRecord& job) {
  if (!yard_.misfit(job.spec).empty() || !arrays_.take(job)) return;
  job.eligible = now();
  if (const Verdict verdict = yard_.submit(job, now()); verdict != Verdict::ok)
    throw std::logic_error(
        fmt::format("job {} cannot be queued: {}", job.number, describe(verdict)));
  update_records();
  note(job, "queued");
  decide_ = true;
}

Time Yardmaster::limit_of(const JobRecord& job) const {
  if (job.spec.time.us == 0 || job.stopping || job.phase() != Phase::running) return Time::never();
  return job.life.state.since + job.spec.time;
}

void Yardmaster::end_those_out_of_time() {
  for (const JobNumber number : holding_) {
    JobRecord& job = jobs_.at(number);
    if (limit_of(job) > now()) continue;
    job.stopping = job.forced = job.out_of_time = true;
    job.reason = fmt::format("time limit of {}", format(job.spec.time));
    note(job, "stopping", json{{"reason", job.reason}}.dump());
    stop_for_good(job);
  }
}

void Yardmaster::compact() {
  next_compaction_ = now() + kBetweenCompactions;
  const auto done =
      journal_.compact(now() - options_.keep_ended, kCompactedAtOnce,
                       [&](const JobRecord& job) { engine_.erase(job.number, job.runs); });
  if (done && *done == kCompactedAtOnce) next_compaction_ = now() + seconds(1);
  if (!done)
    system_.log().write(LogLevel::warning, fmt::format("output and events of jobs that ended long "
                                                       "ago stay: {}",
                                                       done.error().message));
}

// --- After a start of the daemon -----------------------------------------------------------------

Expected<void> Yardmaster::recover() {
  auto jobs = journal_.unfinished();
  if (!jobs) return tl::make_unexpected(jobs.error());
  for (JobRecord& job : *jobs) {
    ++unfinished_of_[job.owner.uid];
    arrays_.add(job);
    jobs_.emplace(job.number, std::move(job));
  }
  if (auto ok = recall_arrays(); !ok) return ok;
  if (auto ok = recall_gpus(); !ok) return ok;
  last_number_ = journal_.last_number();
  last_sequence_ = published_ = journal_.last_event();
  next_compaction_ = now() + seconds(10);
  policy_ = options_.policy;
  if (const auto kept = journal_.setting("policy")) {
    const json j = json::parse(*kept, nullptr, false);
    if (!j.is_discarded())
      policy_ = with_given_settings(
          {j.value("policy", ""), j.value("settings", std::vector<std::string>())});
  }
  const Cluster& cluster = engine_.cluster();
  for (std::uint32_t m = 0; m < cluster.machines.size(); ++m)
    if (journal_.setting("machine/" + cluster.machines[m].name) == "drained")
      closed_.insert(MachineId{m});
  system_.log().write(LogLevel::info, fmt::format("the policy is {}; {} jobs have not ended yet",
                                                  policy_.policy, jobs_.size()));
  return take_up_jobs();
}

/// Of arrays with tasks to come, whether one that has ended was not done.
Expected<void> Yardmaster::recall_arrays() {
  JobNumber last = 0;
  for (const auto& [number, job] : jobs_) {
    if (job.task.array == 0 || job.task.array == last) continue;
    last = job.task.array;
    const auto tally = journal_.tally(last);
    if (!tally) return tl::make_unexpected(tally.error());
    if (*tally && (*tally)->not_done > 0) arrays_.add_not_done(last);
  }
  return {};
}

/// Jobs hold GPUs by number. After a restart the same numbers may be other GPUs: then all have to
/// leave, which is written down with what the numbers mean now.
Expected<void> Yardmaster::recall_gpus() {
  const std::string gpus = engine_.gpu_names();
  const auto before = journal_.setting("gpus");
  if (before.value_or("") == gpus) return {};
  JournalChange change;
  change.settings.emplace_back("gpus", gpus);
  if (before) leave_the_machine();
  for (const JobNumber number : changed_) change.changed.push_back(&jobs_.at(number));
  return journal_.commit(change);
}

Expected<void> Yardmaster::take_up_jobs() {
  const auto spec = parse(policy_);
  if (!spec) return tl::make_unexpected(spec.error());
  hold_what_does_not_fit();
  if (!yard_.begin(*spec, records(), closed_, now())) {
    // The machine is not what it was. What still runs on it has to end before it may start again.
    leave_the_machine();
    hold_what_does_not_fit();
    if (auto again = yard_.begin(*spec, records(), closed_, now()); !again) return again;
  }
  wall_at_start_ = std::max(wall_at_start_, yard_.yard().now());
  update_records();
  for (auto& [number, job] : jobs_)
    if (auto ok = take_up(job); !ok) return ok;
  // After all dependencies are known: the end of one may be the end of others.
  for (auto& [number, job] : jobs_)
    if (job.stopping && !holds_gpus(job.phase()) && !job.left_behind) stop_for_good(job);
  return {};
}

Expected<void> Yardmaster::take_up(JobRecord& job) {
  if (holds_gpus(job.phase()) || job.left_behind) {
    if (holds_gpus(job.phase())) holding_.insert(job.number);
    if (auto ok = engine_.adopt(job.run()); !ok) return ok;
    if (job.phase() == Phase::draining || job.stopping || job.left_behind) stop_run(job);
    return {};
  }
  return job.is_held() ? find_dependencies(job) : Expected<void>();
}

/// All that hold GPUs are held until their runs have ended; reserved rooms are given up.
void Yardmaster::leave_the_machine() {
  for (auto& [number, job] : jobs_) {
    const JobState was = job.life.state;
    if (!holds_gpus(was.phase) && was.phase != Phase::reserved) continue;
    job.left_behind = holds_gpus(was.phase);
    job.was_leaving = was.phase == Phase::draining;
    job.life = {};
    job.life.state = was;
    job.life.state.phase = job.left_behind ? Phase::absent : Phase::queued;
    changed_.insert(number);
  }
}

/// On a smaller machine they would keep others from starting. A larger one takes them up again.
void Yardmaster::hold_what_does_not_fit() {
  for (auto& [number, job] : jobs_) {
    if (job.phase() != Phase::queued || yard_.misfit(job.spec).empty()) continue;
    job.life.state.phase = Phase::absent;
    changed_.insert(number);
  }
}

Expected<void> Yardmaster::find_dependencies(JobRecord& job) {
  job.waits_for = 0;
  const std::set<JobNumber> others(job.spec.after.begin(), job.spec.after.end());
  for (const JobNumber other : others) {
    const auto phase = end_of(other);
    if (!phase) return tl::make_unexpected(phase.error());
    if (*phase == Phase::done) continue;
    if (trainyard::has_ended(*phase)) {
      end(job, EventKind::cancelled, fmt::format("job {}, which it waits for, is not done", other));
      return {};
    }
    dependents_.emplace(other, job.number);
    ++job.waits_for;
  }
  if (job.waits_for == 0) release(job);
  return {};
}

/// How a job or an array ended; `absent` when it has not. An array has ended with its first task
/// that is not done.
Expected<Phase> Yardmaster::end_of(JobNumber number) const {
  if (const auto job = jobs_.find(number); job != jobs_.end())
    return job->second.has_ended() ? job->second.phase() : Phase::absent;
  if (arrays_.contains(number)) return arrays_.not_done(number) ? Phase::failed : Phase::absent;
  const auto job = journal_.find(number);
  if (!job) return tl::make_unexpected(job.error());
  if (*job) return (*job)->phase();
  const auto array = journal_.tally(number);
  if (!array) return tl::make_unexpected(array.error());
  if (!*array) return Phase::cancelled;
  return (*array)->not_done > 0 ? Phase::failed : Phase::done;
}

std::vector<const JobRecord*> Yardmaster::records() const {
  std::vector<const JobRecord*> all;
  for (const auto& [number, job] : jobs_) all.push_back(&job);
  return all;
}

/// What was given when the daemon was started holds for every policy that has such a parameter,
/// unless it is set otherwise with the policy. (A stage that was given belongs to its policy.)
PolicyView Yardmaster::with_given_settings(PolicyView policy) const {
  const auto name_of = [](const std::string& setting) {
    return setting.substr(0, setting.find('='));
  };
  std::vector<std::string> all;
  for (const std::string& given : options_.policy.settings) {
    const std::string name = name_of(given);
    const bool is_set = std::ranges::any_of(
        policy.settings, [&](const std::string& own) { return name_of(own) == name; });
    if (!is_set && name.find('.') != std::string::npos && parse({policy.policy, {given}}))
      all.push_back(given);
  }
  all.insert(all.end(), policy.settings.begin(), policy.settings.end());
  policy.settings = std::move(all);
  return policy;
}

Expected<PolicySpec> Yardmaster::parse(const PolicyView& policy) const {
  return PolicySpec::parse(policy.policy, policy.settings);
}

}  // namespace trainyard
