#include "live/loop/runs.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "live/loop/output_limit.h"

namespace trainyard {
namespace {

using nlohmann::json;

/// A run that ends sooner than this without having been told to was of no use.
constexpr Duration kQuick = seconds(10);
constexpr std::uint32_t kMostQuickReturns = 10;
constexpr Duration kAfterFailedStart = seconds(1), kAfterFailedStartAtMost = minutes(1);
/// The first failed start of a job is tried again at once.
Duration rest_after(std::uint32_t failed_starts) {
  if (failed_starts < 2) return {};
  constexpr std::uint32_t kDoublings = 6;
  return std::min(kAfterFailedStart * (1LL << std::min(failed_starts - 2, kDoublings)),
                  kAfterFailedStartAtMost);
}
constexpr Duration kHeardWithin = seconds(1);  // of an end, while the daemon is there

json details_of(std::uint32_t run, const std::string& why) {
  return {{"run", run}, {"why", why}};
}

RunReport never_begun(RunReport::Kind kind, RunId id, Time now, const std::string& why) {
  RunReport report;
  report.kind = kind, report.id = id, report.at = now;
  report.why = why;
  return report;
}

}  // namespace

// --- What is ordered -----------------------------------------------------------------------------

void Runs::take_orders() {
  const std::vector<LiveYard::Order> orders = state_.yard.take_orders();
  for (const LiveYard::Order& order : orders) carry_out(order);
  const auto is_start = [](const LiveYard::Order& o) { return o.kind == Order::Kind::start; };
  if (state_.options.explains_starts && std::ranges::any_of(orders, is_start)) tell_who_is_passed();
}

/// Why others than the job that was submitted first are started: said when it is not what was said
/// last.
void Runs::tell_who_is_passed() {
  const JobNumber oldest = state_.yard.oldest_queued();
  if (oldest == 0) return;
  const WaitReason reason = state_.yard.explain(oldest);
  std::string line = fmt::format(
      "job {} of {}, the first that was submitted of those that wait, is not started: {}", oldest,
      state_.book.at(oldest).owner.user, reason.sentence);
  if (line == last_passed_) return;
  state_.system.log().write(LogLevel::info, line);
  last_passed_ = std::move(line);
}

void Runs::carry_out(const LiveYard::Order& order) {
  switch (order.kind) {
    case Order::Kind::start:
      return launch(order.job);
    case Order::Kind::pause:
      return pause(order.job);
    case Order::Kind::stop:  // a job ends in the yard after it has ended in fact: it is gone
    case Order::Kind::flow:  // agents on machines see it in the snapshot
      return;
  }
}

void Runs::pause(JobNumber number) {
  ++state_.counters.paused;
  JobRecord& job = state_.book.edit(number);
  job.last_pause = {.at = state_.now(), .run = job.runs, .made_room_for = job.life.room_for};
  json details{{"run", job.runs}};
  if (job.life.room_for != 0) details["for"] = job.life.room_for;
  state_.note(job, Happening::pausing, details);
  stop_later(number);
}

void Runs::launch(JobNumber number) {
  JobRecord& job = state_.book.edit(number);
  if (job.ending != Ending::none) return gate_.end(number, EventKind::cancelled, job.reason);
  if (job.has_started) ++job.restarts;
  job.has_started = job.is_broken = false;
  const std::vector<Resources> grants = state_.yard.grants(number);
  job.granted = least_of(grants);
  ++job.runs;
  ++state_.counters.started;
  Launch launch{.id = job.run(),
                .owner = job.owner,
                .per_worker = job.granted,
                .restarts = job.restarts,
                .task = job.task,
                .born_as = job.born_as};
  json gpus = json::array(), machines = json::array();
  for (const WorkerPlace& worker : state_.yard.places(number)) {
    for (const std::int32_t gpu : worker.gpus) gpus.push_back(gpu);
    const std::string& machine = state_.cluster->machine(worker.machine).name;
    if (machines.empty() || machines.back() != machine) machines.push_back(machine);
  }
  limit_output(job);
  json details{{"run", job.runs}, {"gpus", gpus}};
  if (const JobNumber oldest = state_.yard.oldest_queued(); oldest != 0 && oldest < number)
    details["passes"] = oldest;
  if (state_.cluster->machines.size() > 1) details["machines"] = machines;
  state_.note(job, Happening::starting, details);
  tell_output_limit(job);
  state_.later([this, launch = std::move(launch)] { start_run(launch); });
}

/// None for now if the journal cannot be read: nothing is started before it can be.
void Runs::limit_output(JobRecord& job) const {
  job.output_limit.reset();
  if (const auto limit = output_limit_of(state_, job)) job.output_limit = *limit;
}

void Runs::tell_output_limit(const JobRecord& job) const {
  if (!job.output_limit || *job.output_limit >= state_.engine.keeps_output()) return;
  state_.note(job, Happening::noted,
              details_of(job.runs, fmt::format("of each worker's output {} KiB are kept at most: "
                                               "the user's jobs have little room left on disk",
                                               *job.output_limit / 1024)));
}

/// It was ordered a while ago if the journal could not be written: machines may have other ids,
/// features or shares since, and the job may have lost its place.
void Runs::start_run(Launch launch) {
  const JobRecord* known = state_.book.find(launch.id.job);
  if (known == nullptr || known->run() != launch.id) return;
  using Kind = RunReport::Kind;
  if (!holds_gpus(known->phase()) || !state_.yard.is_as_asked(known->number))
    return hear(never_begun(Kind::lost, launch.id, state_.now(),
                            "it lost its place before it was started"));
  if (!known->output_limit) limit_output(state_.book.edit(launch.id.job));
  const JobRecord& job = state_.book.at(launch.id.job);
  if (!job.output_limit) return wait_for_the_machine(job.number, "the journal cannot be read");
  launch.output_limit = *job.output_limit;
  launch.workers = state_.yard.places(job.number);
  launch.grants = state_.yard.grants(job.number);
  auto payload = state_.journal.payload(job.submission());
  if (!payload) return wait_for_the_machine(job.number, payload.error().message);
  if (!payload->damage.empty())
    return hear(never_begun(Kind::refused, launch.id, state_.now(), payload->damage));
  JobSpec whole = job.spec;
  put_payload(whole, *std::move(payload));
  launch.spec = &whole;
  if (auto begun = state_.engine.start(launch); !begun)
    return wait_for_the_machine(job.number, begun.error().message);
  state_.decisions.after_failed_start = {};
  loads_.expect(launch.id.job);
}

/// It could not be started, by no fault of its own (the disk is full): tried again, however long
/// that lasts, but ever more rarely.
void Runs::wait_for_the_machine(JobNumber number, const std::string& why) {
  DecisionTimes& decisions = state_.decisions;
  decisions.after_failed_start =
      std::clamp(decisions.after_failed_start * 2, kAfterFailedStart, kAfterFailedStartAtMost);
  decisions.not_before = state_.now() + decisions.after_failed_start;
  decisions.is_due = true;
  JobRecord& job = state_.book.edit(number);
  if (job.ending != Ending::none) return gate_.end(number, EventKind::cancelled, job.reason);
  job.reason = "could not be started: " + why;
  (void)state_.tell(EventKind::lost, number);
  state_.note(job, Happening::lost, details_of(job.runs, job.reason));
}

/// What its user declared, and a last resort for jobs that ignore it. A job that has used up its
/// time, or that an operator ends, gets no more grace than is usual; and one that was asked before
/// its limit is not asked again when it reaches it.
void Runs::stop_run(const JobRecord& job) {
  constexpr Duration kForcedGrace = seconds(30);
  const bool is_forced =
      job.ending == Ending::by_operator || job.ending == Ending::by_time_limit || job.is_broken;
  const Duration grace = is_forced ? std::min(job.spec.grace, kForcedGrace) : job.spec.grace;
  const bool was_asked = job.ending == Ending::by_time_limit && asked_after(job.spec).us > 0;
  const StopSignal signal = was_asked ? StopSignal{} : job.spec.signal;
  (void)state_.engine.stop({job.run(), signal, grace, state_.options.kill_wait});
}

void Runs::stop_later(JobNumber number) {
  state_.later([this, number] {
    if (const JobRecord* job = state_.book.find(number)) stop_run(*job);
  });
}

void Runs::break_up(JobNumber number, const std::string& why) {
  const JobRecord& known = state_.book.at(number);
  if (!holds_gpus(known.phase()) || known.is_broken || known.runs_outside) return;
  JobRecord& job = state_.book.edit(number);
  job.is_broken = true;
  if (job.ending == Ending::none) job.reason = why;
  state_.note(job, Happening::broken, details_of(job.runs, why));
  stop_later(number);
}

void Runs::stop_for_good(JobNumber number) {
  const JobRecord& job = state_.book.at(number);
  if (job.has_ended()) return;
  if (!holds_gpus(job.phase()) && job.old_run == OldRun::none)
    return gate_.end(number, EventKind::cancelled, job.reason);
  stop_later(number);
}

Time Runs::limit_of(const JobRecord& job) const {
  const bool is_ours = !job.is_broken && !job.runs_outside && !state_.engine.keeps_time_limits();
  const bool has_limit = job.spec.time.us != 0 && job.ending == Ending::none && is_ours;
  if (!has_limit || job.shown_phase() != Phase::running) return Time::never();
  return job.run_began() + job.spec.time;
}

void Runs::end_those_out_of_time() {
  for (const JobNumber number : state_.book.holding()) {
    if (limit_of(state_.book.at(number)) > state_.now()) continue;
    JobRecord& job = state_.book.edit(number);
    job.ending = Ending::by_time_limit;
    job.reason = fmt::format("time limit of {}", format(job.spec.time));
    state_.note(job, Happening::stopping, {{"reason", job.reason}});
    stop_for_good(number);
  }
}

// --- What the engine reports ---------------------------------------------------------------------

void Runs::hear(const RunReport& report) {
  const JobNumber number = report.id.job;
  const JobRecord* known = state_.book.find(number);
  const bool is_of_job =
      report.kind == RunReport::Kind::withdrawn || report.kind == RunReport::Kind::noted;
  if (known == nullptr || (known->runs != report.id.run && !is_of_job) || known->has_ended()) {
    if (is_end(report.kind)) state_.engine.forget(report.id);
    return;
  }
  switch (report.kind) {
    case RunReport::Kind::progress:
      return hear_progress(number, report.progress);
    case RunReport::Kind::started:
      return hear_started(number, time_of(report), report.places);
    case RunReport::Kind::broken:
      return break_up(number, report.why);
    case RunReport::Kind::withdrawn:
      return hear_withdrawn(number, report.why);
    case RunReport::Kind::noted:
      return state_.note(*known, Happening::noted, details_of(known->runs, report.why));
    default:
      state_.later([this, id = report.id] { state_.engine.forget(id); });
      return hear_end(number, report);
  }
}

/// As if its user had cancelled it with us.
void Runs::hear_withdrawn(JobNumber number, const std::string& why) {
  JobRecord& job = state_.book.edit(number);
  if (job.ending == Ending::none) job.ending = Ending::by_owner, job.reason = why;
  state_.note(job, Happening::cancelling, {{"by", job.owner.user}});
  stop_for_good(number);
}

void Runs::hear_progress(JobNumber number, const JobProgress& progress) {
  loads_.hear(number, progress);
  JobRecord& job = state_.book.edit(number);
  job.progress = progress;
  if (!job.is_held()) job.curve.add(progress, state_.yard.ran(number, state_.now()));
  state_.yard.learn(job, state_.now());
}

void Runs::hear_started(JobNumber number, Time began, const std::vector<WorkerPlace>& places) {
  const JobRecord& known = state_.book.at(number);
  if (known.phase() != Phase::starting || known.has_started) return;
  if (!places.empty()) {
    if (const Verdict verdict = state_.yard.choose(number, places); verdict != Verdict::ok) {
      const std::string why = fmt::format(
          "the engine started it on other GPUs than it may have: {}", describe(verdict));
      state_.system.log().write(LogLevel::error, fmt::format("job {}: {}", number, why));
      return break_up(number, why);
    }
    state_.update_book();
  }
  JobRecord& job = state_.book.edit(number);
  job.has_started = true;
  job.failed_starts = 0;
  if (job.ending == Ending::none) job.reason.clear();
  state_.note(job, Happening::running, {{"run", job.runs}});
  loads_.begin(number, began);
  state_.decisions.is_due = true;
}

void Runs::hear_end(JobNumber number, const RunReport& report) {
  JobRecord& job = state_.book.edit(number);
  const bool exited = report.kind == RunReport::Kind::exited;
  job.output_bytes += report.output_bytes;
  job.output_limit.reset();
  if (exited) job.exit_status = report.exit_status;
  if (job.old_run != OldRun::none) return hear_end_of_old_run(number, report);
  if (!holds_gpus(job.phase())) return;
  const bool has_run = job.phase() != Phase::starting || job.has_started;
  if (exited && !job.is_broken) hear_started(number, state_.now());
  // It may have ended while nobody was there to see it.
  const bool unseen = state_.now() - kHeardWithin > time_of(report);
  const Time ended = unseen ? std::max(time_of(report), job.run_began()) : state_.now();
  // So may it have begun. And a machine that was started anew with another clock cannot tell how
  // long it was off: the engine knows better how long it ran.
  const Duration took = report.ran.value_or(ended - job.run_began());
  const Duration work = exited ? loads_.end(number, ended, took) : Duration{};
  if (job.ending == Ending::by_time_limit && exited && report.asked_requeue)
    job.ending = Ending::none;
  if (job.ending != Ending::none) {
    const bool is_late = job.ending == Ending::by_time_limit;
    return gate_.end(number, is_late ? EventKind::crashed : EventKind::cancelled, job.reason);
  }
  if (report.kind == RunReport::Kind::refused)
    return gate_.end(number, EventKind::crashed, report.why);
  if (job.runs_outside && !exited) return gate_.end(number, EventKind::crashed, report.why);
  if (job.is_broken || report.kind == RunReport::Kind::lost) {
    const std::string why = job.is_broken ? job.reason : report.why;
    return has_run ? come_back(number, EventKind::lost, why) : fail_start(number, why);
  }
  if (job.phase() == Phase::draining) return hear_left(number, report);
  if (report.asked_requeue && !job.runs_outside)
    return come_back(number, EventKind::returned, "asked to run again");
  state_.yard.note_end(number, work);
  end_by_itself(number, report);
  job.life.state.since = ended;
}

/// By our clock, whatever has become of the machine's since.
Time Runs::time_of(const RunReport& report) const {
  const LiveClock& clock = state_.clock;
  if (report.steady) return clock.now() - (state_.system.steady_clock() - *report.steady);
  return report.at == Time::never() ? report.at : report.at - clock.off_by();
}

/// It was told to leave, and has. What it says itself is believed; one that says nothing has come
/// to its end if its status is 0, and has kept what it had if it left in any other way by itself.
void Runs::hear_left(JobNumber number, const RunReport& report) {
  using Word = JobWord::Kind;
  const int exit_status = report.exit_status;
  const Word word = report.word.kind;
  if (word == Word::failed)
    return gate_.end(
        number, EventKind::crashed,
        "its final save failed" + (report.word.why.empty() ? "" : ": " + report.word.why));
  const bool comes_back = word == Word::saved || report.asked_requeue;
  if (!comes_back && report.was_killed) return hear_killed(number, report);
  if (!comes_back && exit_status == 0) return end_by_itself(number, report);
  loads_.leave(number, word == Word::saved);
  requeue(number, EventKind::drained, {{"exit_status", exit_status}});
}

/// It did not leave within its grace: what it did in this run is lost.
void Runs::hear_killed(JobNumber number, const RunReport& report) {
  JobRecord& job = state_.book.edit(number);
  const Duration lost = job.life.state.done - job.life.progress.saved;
  loads_.leave(number, false);
  job.load.unseen_work = std::max(job.load.unseen_work - lost, Duration{});
  job.last_pause.was_killed = true, job.last_pause.lost = lost;
  requeue(number, EventKind::lost,
          {{"exit_status", report.exit_status}, {"killed", true}, {"lost_s", lost.seconds()}});
}

/// A paused job has left.
void Runs::requeue(JobNumber number, EventKind kind, json details) {
  JobRecord& job = state_.book.edit(number);
  job.pause_took = state_.now() - job.life.state.since;
  job.quick_returns = 0;
  details["run"] = job.runs, details["took_s"] = job.pause_took->seconds();
  job.load.began = Time::never();
  (void)state_.tell(kind, number);
  state_.yard.learn(job, state_.now());
  state_.note(job, Happening::paused, details);
  state_.decisions.is_due = true;
}

void Runs::end_by_itself(JobNumber number, const RunReport& report) {
  if (report.exit_status == 0) return gate_.end(number, EventKind::finished, "");
  gate_.end(number, EventKind::crashed,
            report.why.empty() ? fmt::format("exit status {}", report.exit_status) : report.why);
}

/// What ran on when the daemon came back to another machine. If it ended before anybody told it to,
/// it has ended; else it may start again now.
void Runs::hear_end_of_old_run(JobNumber number, const RunReport& report) {
  JobRecord& job = state_.book.edit(number);
  const bool was_leaving = std::exchange(job.old_run, OldRun::none) == OldRun::leaving;
  job.life.room = {};
  if (job.ending != Ending::none) return stop_for_good(number);
  if (job.runs_outside)
    return report.kind == RunReport::Kind::exited
               ? end_by_itself(number, report)
               : gate_.end(number, EventKind::crashed, report.why);
  const bool by_itself = report.kind == RunReport::Kind::exited && !was_leaving &&
                         !report.asked_requeue && time_of(report) < state_.clock.began();
  by_itself ? end_by_itself(number, report) : gate_.release(number);
}

/// The engine could not start it, perhaps after having tried for long: the job is not to blame. It
/// is tried again, ever more rarely, and rests meanwhile so that others have their turn.
void Runs::fail_start(JobNumber number, const std::string& why) {
  JobRecord& job = state_.book.edit(number);
  ++job.failed_starts;
  job.is_broken = false;
  job.reason = "could not be started: " + why;
  (void)state_.tell(EventKind::lost, number);
  state_.note(job, Happening::lost, details_of(job.runs, job.reason));
  state_.decisions.is_due = true;
  const Duration rest = rest_after(job.failed_starts);
  if (rest.us == 0) return;
  state_.yard.withdraw(number, state_.now());
  job.life.state.phase = Phase::absent;
  state_.resting[number] = state_.now() + rest;
}

void Runs::try_again() {
  std::vector<JobNumber> rested;
  for (const auto& [number, until] : state_.resting)
    if (until <= state_.now()) rested.push_back(number);
  for (const JobNumber number : rested) {
    state_.resting.erase(number);
    const JobRecord* job = state_.book.find(number);
    if (job != nullptr && job->is_held()) gate_.release(number);
  }
}

/// Back to the queue without having been told to, but not for ever.
void Runs::come_back(JobNumber number, EventKind kind, const std::string& why) {
  JobRecord& job = state_.book.edit(number);
  const bool quick = !job.is_broken && state_.now() - job.run_began() < kQuick;
  job.is_broken = false;
  job.load.began = Time::never();
  job.quick_returns = quick ? job.quick_returns + 1 : 0;
  state_.decisions.is_due = true;
  if (job.quick_returns > kMostQuickReturns)
    return gate_.end(number, EventKind::crashed,
                     fmt::format("came back {} times within seconds: {}", job.quick_returns, why));
  if (kind == EventKind::returned) {
    job.done_when_returned = state_.yard.ran(number, state_.now());
    job.reason.clear();
    state_.yard.learn(job, state_.now());
  }
  (void)state_.tell(kind, number);
  if (quick && kind == EventKind::lost)
    state_.decisions.not_before = state_.now() + kAfterFailedStart;
  state_.note(job, kind == EventKind::lost ? Happening::lost : Happening::returned,
              details_of(job.runs, why));
}

}  // namespace trainyard
