#include "yard/yard.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

#include "base/grow.h"
#include "perf/run_progress.h"
#include "yard/share_order.h"

namespace trainyard {
namespace {

constexpr std::int32_t kWordBits = 64;

/// So many of the lowest bits, or all where there are no more; `count` is less by those.
std::uint64_t take_lowest(std::uint64_t mask, std::int32_t& count) {
  std::uint64_t rest = mask;
  for (; count > 0 && rest != 0; --count) rest &= rest - 1;
  return mask ^ rest;
}

/// A word whose lowest `count` bits are set; none for a negative count.
std::uint64_t ones(std::int32_t count) {
  if (count >= kWordBits) return ~0ULL;
  return count <= 0 ? 0 : (1ULL << count) - 1;
}

}  // namespace

Yard::Yard(const Cluster& cluster, const Workload& workload, YardRules rules,
           const PlacementSpeed* speed)
    : cluster_(cluster),
      workload_(workload),
      rules_(rules),
      speed_(speed),
      free_(cluster),
      gpu_words_(static_cast<std::size_t>(
          std::max(1, (cluster.largest_machine_gpus + kWordBits - 1) / kWordBits))),
      jobs_on_(cluster.machines.size()) {
  free_gpus_.reserve(cluster.machines.size() * gpu_words_);
  for (const Machine& machine : cluster.machines)
    for (std::size_t w = 0; w < gpu_words_; ++w)
      free_gpus_.push_back(ones(machine.capacity.gpus - static_cast<std::int32_t>(w) * kWordBits));
  states_.reserve(workload.jobs.size());
}

// --- Events ------------------------------------------------------------------------------------

Verdict Yard::apply(const Event& event) {
  if (event.at < now_) return Verdict::time_went_back;
  const Time before = std::exchange(now_, event.at);
  const Verdict verdict = happen(event);
  if (verdict != Verdict::ok) now_ = before;
  return verdict;
}

Verdict Yard::happen(const Event& event) {
  const JobId job{event.subject};
  const MachineId machine{event.subject};
  switch (event.kind) {
    case EventKind::clock:
      return Verdict::ok;
    case EventKind::machine_down:
    case EventKind::machine_up:
    case EventKind::machine_closed:
      if (event.subject >= cluster_.machines.size()) return Verdict::no_such_subject;
      if (event.kind == EventKind::machine_closed) return close(machine);
      return event.kind == EventKind::machine_down ? take_down(machine) : bring_up(machine);
    case EventKind::submitted:
      // Jobs are numbered in the order of their submission.
      if (event.subject >= workload_.jobs.size()) return Verdict::no_such_subject;
      return event.subject == states_.size() ? submit(job) : Verdict::wrong_phase;
    default:
      return event.subject < states_.size() ? happen_to(job, event) : Verdict::no_such_subject;
  }
}

Verdict Yard::happen_to(JobId job, const Event& event) {
  switch (event.kind) {
    case EventKind::loaded:
      return load(job, event.estimate.work);
    case EventKind::finished:
      return finish(job, event.estimate.work);
    case EventKind::drained:
      return drain(job);
    case EventKind::crashed:
      return holds_gpus(state(job).phase) ? end_early(job, Phase::failed) : Verdict::wrong_phase;
    case EventKind::returned:
      return return_to_queue(job);
    case EventKind::rate_changed:
      return change_rate(job, event.rate);
    case EventKind::estimate_changed:
      return change_estimate(job, event.estimate);
    case EventKind::learnt:
      return learn(job, event.point);
    case EventKind::lost:
      return lose(job);
    default:
      return end_early(job, Phase::cancelled);
  }
}

/// Nothing was done while it loaded, unless the engine knows better. One that was believed to have
/// loaded starts anew.
Verdict Yard::load(JobId job, Duration work) {
  JobState& state = states_[index(job)];
  if (state.phase == Phase::running && work.us >= 0) return load_late(job, work);
  if (state.phase != Phase::starting) return Verdict::wrong_phase;
  Run& run = runs_[state.run];
  const Duration held = now_ - state.since;
  const Duration gained = work.us < 0 ? Duration{} : work - state.done;
  const bool is_written = this->job(job).checkpoint_interval.us > 0;
  if (gained.us > 0 && (is_written || gained > run.rate.work_in(held))) return Verdict::wrong_value;
  const Duration used = gained.us > 0 ? std::min(run.rate.time_for(gained), held) : gained;
  state.lost += held - used;
  state.slowed += used - gained;
  take_back(job, state.done + gained);
  run.at = now_;
  enter(job, Phase::running);
  return Verdict::ok;
}

/// It has loaded only now, and has done no more than `work`.
Verdict Yard::load_late(JobId job, Duration work) {
  if (this->job(job).checkpoint_interval.us > 0 || work > progress(job).done)
    return Verdict::wrong_value;
  book(job, progress(job));
  JobState& state = states_[index(job)];
  state.lost += state.done - work;
  take_back(job, work);
  enter(job, Phase::starting);
  enter(job, Phase::running);
  return Verdict::ok;
}

/// From now on that is what the job has done, also before its present run.
void Yard::take_back(JobId job, Duration work) {
  JobState& state = states_[index(job)];
  Run& run = runs_[state.run];
  state.done = work;
  run.saved = std::min(run.saved, work), run.brought = std::min(run.brought, work);
}

Verdict Yard::submit(JobId job) {
  if (const Verdict verdict = check_kind(job); verdict != Verdict::ok) return verdict;
  JobState& state = states_.emplace_back();
  state.shape = shapes_.of(workload_.jobs[index(job)], workload_, cluster_);
  ++unfinished_;
  enter(job, Phase::queued);
  return Verdict::ok;
}

/// Its duration says how much work that was, unless the engine knows better. One that was told to
/// leave may have come to its end instead, with what it had done by then.
Verdict Yard::finish(JobId job, Duration work) {
  if (state(job).phase == Phase::draining) return end_early(job, Phase::done);
  if (state(job).phase != Phase::running) return Verdict::wrong_phase;
  RunProgress now = progress(job);
  now.done = work.us < 0 ? this->job(job).duration : std::max(work, state(job).done);
  book(job, now);
  release(job);
  --unfinished_;
  enter(job, Phase::done);
  return Verdict::ok;
}

Verdict Yard::drain(JobId job) {
  JobState& state = states_[index(job)];
  if (state.phase != Phase::draining) return Verdict::wrong_phase;
  state.lost += now_ - state.since;
  state.lost_by_pause = false;
  requeue(job);
  return Verdict::ok;
}

Verdict Yard::lose(JobId job) {
  JobState& state = states_[index(job)];
  if (!holds_gpus(state.phase)) return Verdict::wrong_phase;
  state.lost_by_pause |= state.phase == Phase::draining;
  fall_back(job);
  return Verdict::ok;
}

Verdict Yard::return_to_queue(JobId job) {
  if (!holds_gpus(state(job).phase)) return Verdict::wrong_phase;
  book_so_far(job);
  requeue(job);
  return Verdict::ok;
}

Verdict Yard::change_rate(JobId job, Rate rate) {
  if (!holds_gpus(state(job).phase)) return Verdict::wrong_phase;
  if (!(rate.time_per_work() > 0)) return Verdict::wrong_value;
  Run& run = runs_[state(job).run];
  if (run.rate == rate) return Verdict::ok;
  if (state(job).phase == Phase::running) book(job, progress(job));
  run.rate = rate;
  for (YardListener* listener : listeners_) listener->on_rate(job);
  return Verdict::ok;
}

Verdict Yard::change_estimate(JobId job, const Estimate& estimate) {
  if (has_ended(state(job).phase)) return Verdict::wrong_phase;
  const Duration most = std::max({estimate.work, estimate.pause, estimate.load});
  if (estimate.work.us == 0 || most > kLongestDuration) return Verdict::wrong_value;
  Estimate now = revised(job);
  if (estimate.work.us > 0) now.work = estimate.work;
  if (estimate.pause.us >= 0) now.pause = estimate.pause;
  if (estimate.load.us >= 0) now.load = estimate.load;
  if (now == revised(job)) return Verdict::ok;
  grow_to(revised_, index(job), workload_.jobs.size());
  revised_[index(job)] = now;
  for (YardListener* listener : listeners_) listener->on_estimate(job);
  return Verdict::ok;
}

/// The yard keeps none of it: those who go by learning curves listen.
Verdict Yard::learn(JobId job, const LearningPoint& point) {
  if (state(job).phase != Phase::running) return Verdict::wrong_phase;
  if (!std::isfinite(point.step) || !std::isfinite(point.accuracy) || point.step < 0)
    return Verdict::wrong_value;
  for (YardListener* listener : listeners_) listener->on_learnt(job, point);
  return Verdict::ok;
}

Verdict Yard::end_early(JobId job, Phase end) {
  JobState& state = states_[index(job)];
  if (has_ended(state.phase)) return Verdict::wrong_phase;
  if (state.phase == Phase::reserved) void_reservation(job);
  if (room_of(job) != kNoRun) give_up_next(job);
  if (holds_gpus(state.phase)) {
    orders_.push_back({Order::Kind::stop, job});
    book_so_far(job);
    release(job);
  }
  --unfinished_;
  enter(job, end);
  return Verdict::ok;
}

/// One that was closed can still go down under those who stayed.
Verdict Yard::take_down(MachineId machine) {
  if (!free_.is_up(machine) && jobs_on(machine).empty()) return Verdict::machine_is_down;
  free_.set_up(machine, false);
  void_reservations(machine);
  const std::vector<JobId> jobs = jobs_on_[index(machine)];
  for (const JobId job : jobs)
    if (holds_gpus(state(job).phase)) {
      orders_.push_back({Order::Kind::stop, job});
      fall_back(job);
    }
  for (YardListener* listener : listeners_) listener->on_machine(machine, false);
  return Verdict::ok;
}

Verdict Yard::close(MachineId machine) {
  if (!free_.is_up(machine)) return Verdict::machine_is_down;
  free_.set_up(machine, false);
  void_reservations(machine);
  for (YardListener* listener : listeners_) listener->on_machine(machine, false);
  return Verdict::ok;
}

Verdict Yard::bring_up(MachineId machine) {
  if (free_.is_up(machine)) return Verdict::machine_is_up;
  free_.set_up(machine, true);
  for (YardListener* listener : listeners_) listener->on_machine(machine, true);
  return Verdict::ok;
}

/// Its machine, or the run alone, is gone: what it did since its last checkpoint has to be done
/// again.
void Yard::fall_back(JobId job) {
  JobState& state = states_[index(job)];
  book_so_far(job);
  const Duration saved = runs_[state.run].saved;
  state.lost += state.done - saved;
  state.done = saved;
  requeue(job);
}

/// It has left its GPUs, to queue or to go where it was told.
void Yard::requeue(JobId job) {
  const std::uint32_t next = release(job);
  enter(job, Phase::queued);
  if (next != kNoRun) move_in(job, next);
}

// --- Work ----------------------------------------------------------------------------------------

RunProgress Yard::booked(JobId job) const {
  const Run& run = runs_[state(job).run];
  return {run.at, state(job).done, run.saved, run.writing, run.rate};
}

/// Brings the books of a job that runs up to now, with what it has done by now.
void Yard::book(JobId job, const RunProgress& now) {
  JobState& state = states_[index(job)];
  Run& run = runs_[state.run];
  const Duration elapsed = now_ - run.at, work = now.done - state.done;
  const bool is_stopped = run.rate == Rate::stopped();  // then it goes on with a checkpoint at most
  const Duration wrote = now.saved > run.saved ? this->job(job).checkpoint_cost - run.writing
                                               : now.writing - run.writing;
  const Duration slowed =
      is_stopped ? elapsed - work - wrote : std::min(run.rate.time_for(work), elapsed) - work;
  state.slowed += slowed;
  state.lost += elapsed - work - slowed;
  state.done = now.done;
  run.at = now_, run.saved = now.saved, run.writing = now.writing;
}

/// The same of any job that holds GPUs: loading or saving was in vain.
void Yard::book_so_far(JobId job) {
  JobState& state = states_[index(job)];
  if (state.phase == Phase::running) return book(job, progress(job));
  state.lost += now_ - state.since;
}

// --- Rooms -------------------------------------------------------------------------------------

std::uint32_t Yard::new_run(JobId job, const Placement& placement) {
  if (spare_runs_.empty()) {
    spare_runs_.push_back(static_cast<std::uint32_t>(runs_.size()));
    runs_.emplace_back();
  }
  const std::uint32_t id = spare_runs_.back();
  spare_runs_.pop_back();
  Run& run = runs_[id];
  run.job = job;
  run.workers = trainyard::workers(placement);
  run.shares = placement;
  find_amounts(run);
  run.gpu_masks.assign(placement.size() * gpu_words_, 0);
  run.missing.clear();
  run.by_machine.clear();
  run.lacking = run.leaving = 0;
  run.lead = run.room_for = kNoJob;
  run.next = kNoRun;
  run.at = now_;
  run.saved = run.brought = state(job).done;
  run.writing = {};
  run.rate = {};
  run.flow = kFirstFlow;
  return id;
}

/// What the workers take there now; a machine that changes later does not change that.
void Yard::find_amounts(Run& run) const {
  const Shape& shape = this->shape(run.job);
  run.each.clear();
  run.gpus = run.workers * shape.per_worker.gpus;
  if (shape.fit == nullptr) return;
  run.gpus = 0;
  for (const Share& share : run.shares) {
    run.each.push_back(shape.demand(share.machine));
    run.gpus += run.each.back().gpus * share.workers;
  }
}

/// From now on this is where the job is, or waits for its room.
void Yard::arrive(JobId job, std::uint32_t run) {
  states_[index(job)].run = run;
  for (const Share& share : runs_[run].shares) jobs_on_[index(share.machine)].push_back(job);
}

Yard::Run& Yard::open_run(JobId job, const Placement& placement) {
  const std::uint32_t run = new_run(job, placement);
  arrive(job, run);
  return runs_[run];
}

void Yard::close_run(JobId job) {
  Run& run = runs_[state(job).run];
  for (const Share& share : run.shares) {
    std::vector<JobId>& jobs = jobs_on_[index(share.machine)];
    jobs.erase(std::find(jobs.begin(), jobs.end(), job));
  }
  run.room_for = kNoJob;
  spare_runs_.push_back(state(job).run);
}

void Yard::take(Run& run, std::size_t share, const Resources& amount) {
  const MachineId machine = run.shares[share].machine;
  std::int32_t left = amount.gpus;
  for (std::size_t w = 0; left > 0; ++w) {
    std::uint64_t& free_gpus = free_gpus_[index(machine) * gpu_words_ + w];
    const std::uint64_t gpus = take_lowest(free_gpus, left);
    free_gpus &= ~gpus;
    run.gpu_masks[share * gpu_words_ + w] |= gpus;
  }
  free_.take(machine, amount);
}

/// What the run holds is free, or goes to those whom this one leads.
void Yard::give_back(const Run& run, JobId lead) {
  for (std::size_t i = 0; i < run.shares.size(); ++i) {
    const Share& share = run.shares[i];
    for (std::size_t w = 0; w < gpu_words_; ++w)
      free_gpus_[index(share.machine) * gpu_words_ + w] |= run.gpu_masks[i * gpu_words_ + w];
    Resources held = each(run, i) * share.workers;
    if (!run.missing.empty()) held -= run.missing[i];
    free_.give(share.machine, held);
    if (lead != kNoJob) hand_over(lead, share.machine, held);
  }
}

/// Gives back all that the job holds, and hands the room on to those for whom it was made. Returns
/// its own next room, if it moves.
std::uint32_t Yard::release(JobId job) {
  Run& run = runs_[state(job).run];
  const JobId lead = run.room_for;
  give_back(run, lead);
  close_run(job);
  if (lead != kNoJob) {
    --runs_[room_of(lead)].leaving;
    start_ready(lead);
  }
  return run.next;
}

void Yard::enter(JobId job, Phase phase) {
  JobState& state = states_[index(job)];
  const Phase from = state.phase;
  if (from == Phase::queued || from == Phase::reserved) state.waited += now_ - state.since;
  if (holds_gpus(from) != holds_gpus(phase)) {
    const std::int32_t gpus = runs_[state.run].gpus;
    held_gpus_ += holds_gpus(phase) ? gpus : -gpus;
  }
  state.phase = phase;
  state.since = now_;
  for (YardListener* listener : listeners_) listener->on_phase(job, from, phase);
}

std::vector<std::int32_t> Yard::gpus(JobId id, std::size_t i) const {
  return gpus_of(runs_[state(id).run], i);
}

std::vector<std::int32_t> Yard::gpus_of(const Run& run, std::size_t share) const {
  std::vector<std::int32_t> gpus;
  for (std::size_t w = 0; w < gpu_words_; ++w)
    for (std::uint64_t left = run.gpu_masks[share * gpu_words_ + w]; left != 0; left &= left - 1)
      gpus.push_back(static_cast<std::int32_t>(w) * kWordBits + std::countr_zero(left));
  return gpus;
}

// --- What policies may know ----------------------------------------------------------------------

Duration Yard::expected_remaining(JobId id, Duration estimate) const {
  return std::max(estimate - work_done(id), microseconds(1));
}

Time Yard::expected_end(JobId id, Duration estimate) const {
  const JobState& state = this->state(id);
  if (state.phase != Phase::draining) return end_of(id, estimate);
  const Duration leaving = revised(id).pause;
  return state.since + (leaving.us < 0 ? job(id).grace + job(id).save : leaving);
}

Time Yard::end_of(JobId id, Duration work) const {
  const JobState& state = this->state(id);
  const Duration left = std::max(work - state.done, microseconds(1));
  if (state.phase == Phase::starting)
    return state.since + load_time(id) + run_time(job(id), left, rate(id));
  const RunProgress progress = booked(id);
  return progress.at + time_for(progress, job(id), left);
}

Duration Yard::attained(JobId id) const {
  const JobState& state = this->state(id);
  if (state.phase != Phase::running) return state.done;
  return runs_[state.run].brought + (now_ - state.since);
}

std::int64_t Yard::attained_service(JobId id) const {
  const JobState& state = this->state(id);
  if (state.phase != Phase::running) return (state.done * job(id).gpus()).us;
  return (runs_[state.run].brought * job(id).gpus() + (now_ - state.since) * gpus(id)).us;
}

Time Yard::pausable_from(JobId victim, JobId waiter) const {
  const bool was_paused = waiter != kNoJob && state(waiter).pauses > 0;
  return pausable_from(victim, was_paused ? turns_.times(waiter, victim) : 0);
}

/// Where the waiter has made room for the victim so many times.
Time Yard::pausable_from(JobId victim, std::uint32_t turns_taken) const {
  const JobState& state = this->state(victim);
  if (state.phase != Phase::running || state.pauses >= rules_.max_pauses) return Time::never();
  if (turns_taken == 0) return state.since + rules_.min_run;
  const std::int64_t doubled = std::int64_t{1} << std::min<std::uint32_t>(turns_taken - 1, 62);
  return state.since + std::max(rules_.min_run, rules_.turn * doubled);
}

Time Yard::movable_from(JobId job) const {
  const Time pausable = pausable_from(job, 0U);
  if (pausable == Time::never() || rules_.min_run == Duration::max()) return Time::never();
  return std::min(pausable, state(job).since + rules_.min_stay);
}

/// What was found last stands for as long as that other job runs: those that begin to run later
/// have rules_.turn at least from then on.
Time Yard::next_turn(JobId waiter) const {
  const auto [known, first] = turns_.next(waiter);
  if (known > now_ && first != kNoJob && pausable_from(first, waiter) == known) return known;
  Turns::Next next;
  turns_.keep(waiter, [&](JobId victim, std::uint32_t times) {
    if (const Time from = pausable_from(victim, times); from > now_ && from < next.none_before)
      next = {from, victim};
    return !has_ended(state(victim).phase);
  });
  const Time latest = now_ + rules_.turn;
  turns_.set_next(waiter, next.none_before < latest ? next : Turns::Next{latest, kNoJob});
  return next.none_before;
}

}  // namespace trainyard
