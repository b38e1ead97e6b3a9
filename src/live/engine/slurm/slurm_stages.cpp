// A run, from the order to start it to its end (the stages of slurm_runs.h).
#include <algorithm>
#include <csignal>

#include "live/engine/slurm/comment.h"
#include "live/engine/slurm/slurm_runs.h"

namespace trainyard {

using Kind = RunReport::Kind;

namespace {

constexpr Duration kBetweenRuns = seconds(2);  // clocks of nodes differ a little

}  // namespace

void SlurmRuns::tend(Followed& job) {
  if (!is_open_) return;
  if (job.is_over) return sweep(job);
  if (!job.run) return tend_waiting(job);
  switch (job.run->stage) {
    case Run::Stage::placing:
      return place(job);
    case Run::Stage::starting:
      return await_start(job);
    case Run::Stage::running:
      return watch(job);
    case Run::Stage::leaving:
      return see_off(job);
  }
}

// --- From the order to its start -----------------------------------------------------------------

/// A submission that was not acknowledged may have been taken all the same: such a job has the run
/// in its comment, and its owner.
void SlurmRuns::submit_own() {
  for (auto next = unsubmitted_.begin(); next != unsubmitted_.end();) {
    Run& run = next->second;
    const SlurmMark mark{.daemon = options_.daemon, .job = run.id().job, .run = run.id().run};
    SlurmSubmission& wanted = *run.order.submission;
    wanted.comment = format(mark);
    auto there = std::ranges::find_if(jobs_, [&](const auto& entry) {
      const SlurmJob& job = entry.second.job;
      return job.comment == wanted.comment && job.owner.uid == wanted.owner.uid &&
             job.state == SlurmState::pending;
    });
    if (there == jobs_.end()) {
      const auto id = slurm_.submit(wanted);
      if (!id && id.error().is_away) return note_away(id.error());
      const auto seen = id ? slurm_.job(*id) : SlurmAnswer<std::optional<SlurmJob>>();
      if (id && (!seen || !*seen)) return;  // the next look finds it, or it is submitted again
      if (id) {
        there = jobs_.insert_or_assign(*id, Followed{}).first;
        see(there->second, **seen);
      }
      if (!id) {
        Followed nothing;
        nothing.run = std::move(run);
        next = unsubmitted_.erase(next);
        RunReport report = report_of(nothing, Kind::refused);
        report.why = "Slurm does not take it: " + id.error().message;
        say(std::move(report));
        continue;
      }
    }
    Followed& job = there->second;
    job.number = run.id().job;
    ids_[job.number] = there->first;
    job.run = std::move(run);
    next = unsubmitted_.erase(next);
    tend(job);
  }
}

/// Whether Slurm can be told to do exactly this.
std::string SlurmRuns::misplaced(const Followed& job) const {
  if (job.is_own) return {};
  const auto now = spec(job);
  const Start& order = job.run->order;
  if (now && static_cast<std::size_t>(now->workers) == order.nodes.size() &&
      (now->node.whole || now->per_worker.gpus == order.gpus))
    return {};
  return now ? "it was changed in Slurm" : now.error().message;
}

void SlurmRuns::place(Followed& job) {
  if ((!is_fresh() && !refresh(job)) || job.job.is_completing) return;
  Run& run = *job.run;
  const bool is_ordered = job.mark.run == run.id().run && job.mark.job == run.id().job;
  if (has_ended(job.job.state)) {
    if (!job.end_is_told || job.job.state == SlurmState::cancelled)
      return lose(job, fmt::format("it is {} in Slurm", name(job.job.state)));
    return void(done(job, "requeue", slurm_.requeue_held(job.job.id)));
  }
  if (job.job.state != SlurmState::pending) {
    if (!is_ordered) return lose(job, "Slurm has started it without being asked to");
    run.stage = Run::Stage::starting;
    return await_start(job);
  }
  if (const std::string why = misplaced(job); !why.empty()) {
    lose(job, why);
    return bear_anew(job, why);
  }
  run.restarts = job.job.restarts;
  if (!is_ordered || job.job.is_held) {
    if (is_regrouping()) return;
    const Time may_start = job.job.restarts > 0
                               ? std::max(job.last_ran + kBetweenRuns, run.order.decided)
                               : run.order.decided;
    if (system_.steady_clock() < may_start) return;
    SlurmUpdate update;
    update.id = job.job.id;
    update.hold = SlurmUpdate::Hold::release;
    update.nodes = run.order.nodes;
    std::ranges::sort(*update.nodes);
    update.nodes->erase(std::unique(update.nodes->begin(), update.nodes->end()),
                        update.nodes->end());
    const SlurmMark mark{.daemon = options_.daemon,
                         .job = run.id().job,
                         .run = run.id().run,
                         .restarts = run.restarts,
                         .birth = job.mark.birth,
                         .since = job.since()};
    update.mark = format(mark);
    const auto answer = slurm_.update(update);
    if (!done(job, "start", answer)) {
      if (!answer.error().is_away) lose(job, answer.error().message);
      return;
    }
    job.mark = mark;
    job.job.mark = *update.mark;
    job.job.is_held = job.needs_mark = false;
    if (system_.log().takes(LogLevel::debug))
      system_.log().write(
          LogLevel::debug,
          fmt::format("Slurm has the start of its job {} {:.1f} ms after {}", job.job.id,
                      (system_.steady_clock() - may_start).seconds() * 1e3,
                      may_start == run.order.decided ? "it was ordered" : "it might start again"));
  }
  run.waited = {};
  run.ordered = system_.steady_clock();
  run.stage = Run::Stage::starting;
}

void SlurmRuns::await_start(Followed& job) {
  Run& run = *job.run;
  if (job.job.is_configuring) return;
  if (job.mark.run != run.id().run) {
    if (!run.undone_at)
      note(job,
           "slurmctld has forgotten the order to start it; it may have begun all the same, and its "
           "script may be run a second time");
    const bool has_waited = has_settled(run);
    if (put_back(job) && has_waited) lose(job, "slurmctld has lost the order to start it");
    return;
  }
  run.undone_at.reset();
  if (back_since_ && run.ordered <= *back_since_) {
    run.ordered = Time::never();
    note(job,
         "slurmctld was away before it was seen to start; if it had begun, its script may be run a "
         "second time");
  }
  const bool has_begun = job.job.state != SlurmState::pending || job.job.restarts > run.restarts;
  if (has_begun) {
    tell_started(job);
    return watch(job);
  }
  if (job.job.is_completing) return;
  if (job.job.is_held)
    return lose(job, fmt::format("it was held in Slurm before it began ({})", job.job.reason));
  run.waited += passed_;
  if (run.waited >= options_.start_within) take_back(job);
}

/// Held again, unless it begins just now.
void SlurmRuns::take_back(Followed& job) {
  const std::string reason = job.job.reason.empty() ? "it does not say why" : job.job.reason;
  if (!hold(job) || job.job.state != SlurmState::pending || !job.job.is_held) return;
  lose(job,
       fmt::format("Slurm did not start it on {} within {} ({})",
                   fmt::join(job.run->order.nodes, ", "), format(options_.start_within), reason));
}

void SlurmRuns::tell_started(Followed& job) {
  Run& run = *job.run;
  run.started = job.job.started;
  run.places = job.job.places;
  if (run.stage != Run::Stage::leaving) run.stage = Run::Stage::running;
  if (!std::exchange(run.is_told, true)) say(report_of(job, Kind::started));
}

// --- While it runs -------------------------------------------------------------------------------

void SlurmRuns::watch(Followed& job) {
  Run& run = *job.run;
  const SlurmJob& now = job.job;
  if (now.restarts > run.restarts) return hear_requeued(job);
  if (now.state == SlurmState::pending || now.restarts < run.restarts) return hear_undone(job);
  if (has_ended(now.state)) return hear_end(job);
  run.undone_at.reset();
  if (now.started != run.started && !now.is_configuring) return hear_repeated(job);
  if (const auto told = told_in_comment(now.comment, now.restarts); told && told != run.told) {
    run.told = told;
    RunReport report = report_of(job, Kind::progress);
    report.progress = *told;
    say(std::move(report));
  }
}

/// By itself (scontrol requeue), by an operator, or by Slurm because a node is down.
void SlurmRuns::hear_requeued(Followed& job) {
  if (job.job.is_completing) return;
  const bool runs_again = job.job.state != SlurmState::pending;
  if (!runs_again && !job.is_own && !hold(job)) return;
  const bool is_nodes_fault = std::ranges::any_of(
      job.run->places, [&](const SlurmPlace& place) { return nodes_.is_down(place.node); });
  if (is_nodes_fault) return lose(job, "Slurm has requeued it: a node of it is down");
  RunReport report = report_of(job, Kind::exited);
  report.exit_status = 0;
  report.asked_requeue = true;
  finish(job, std::move(report));
}

/// slurmctld was killed before it had saved that the job runs. slurmd is told to end it when it
/// registers; until then its GPUs are in use, whatever Slurm says.
void SlurmRuns::hear_undone(Followed& job) {
  if (job.job.is_completing) return;
  if (!job.run->undone_at)
    note(job, "slurmctld has forgotten that it runs; its script may be run a second time");
  const bool has_waited = has_settled(*job.run);
  if (put_back(job) && has_waited) lose(job, "slurmctld has forgotten that it ran");
}

bool SlurmRuns::put_back(Followed& job) {
  if (job.is_own) return true;  // finish() cancels it
  if (job.job.is_completing) return false;
  if (job.job.state == SlurmState::pending)
    return hold(job) && job.job.state == SlurmState::pending && !job.job.is_completing;
  if (refresh(job) && job.job.state != SlurmState::pending)
    (void)done(job, "requeue", slurm_.requeue_held(job.job.id));
  return false;
}

/// Processes may live that slurmctld, which was away, does not know of yet.
bool SlurmRuns::is_regrouping() const {
  return is_away_ || (back_since_ && system_.steady_clock() - *back_since_ < options_.settle);
}

bool SlurmRuns::has_settled(Run& run) const {
  const Time now = system_.steady_clock();
  if (!run.undone_at) run.undone_at = now;
  return now - *run.undone_at >= options_.settle;
}

/// The start was forgotten, and then done again, by Slurm itself.
void SlurmRuns::hear_repeated(Followed& job) {
  Run& run = *job.run;
  note(job,
       fmt::format("Slurm has started its script a second time, with restart count {} as before",
                   job.job.restarts));
  const bool is_elsewhere = run.places != job.job.places;
  run.started = job.job.started;
  run.places = job.job.places;
  if (!is_elsewhere) return;
  RunReport report = report_of(job, Kind::broken);
  report.why = "Slurm has started it a second time, on other GPUs";
  say(std::move(report));
}

void SlurmRuns::hear_end(Followed& job) {
  const SlurmJob& now = job.job;
  if (now.is_completing) return;
  const bool is_lost = now.state == SlurmState::node_fail || now.state == SlurmState::boot_fail ||
                       now.state == SlurmState::preempted;
  if (is_lost) return lose(job, fmt::format("{} in Slurm", name(now.state)));
  if (now.state == SlurmState::cancelled && !job.run->was_requeued)
    say_withdrawn(job.number, "cancelled in Slurm");
  RunReport report = report_of(job, Kind::exited);
  report.exit_status = now.exit_status;
  if (now.state != SlurmState::completed) {
    if (now.exit_status == 0) report.exit_status = 128 + SIGTERM;
    if (now.state == SlurmState::timeout) report.why = "it reached its time limit in Slurm";
    if (now.state == SlurmState::deadline) report.why = "it missed its deadline in Slurm";
    if (now.state == SlurmState::out_of_memory) report.why = "out of memory";
  }
  finish(job, std::move(report));
}

// --- To its end ----------------------------------------------------------------------------------

/// Whether it left by itself or had to be made to, and with which exit status, makes no difference:
/// it was to leave, and waits for its next start.
void SlurmRuns::see_off(Followed& job) {
  Run& run = *job.run;
  if (job.job.is_completing) return;
  if (job.job.state == SlurmState::pending) {
    if (!job.is_own && !hold(job)) return;
    if (job.job.state != SlurmState::pending) return;
    RunReport report = report_of(job, Kind::exited);
    report.asked_requeue = true;  // it waits in Slurm for its next run, also if it left with 0
    return finish(job, std::move(report));
  }
  if (!has_ended(job.job.state)) return see_off_running(job);
  if (!run.is_told) tell_started(job);
  const bool is_withdrawn = job.job.state == SlurmState::cancelled && !run.was_requeued;
  if (job.is_own || run.is_outside || is_withdrawn) return hear_end(job);
  run.exit_status = job.job.exit_status;
  if (!refresh(job) || !has_ended(job.job.state)) return;
  const auto answer = slurm_.requeue_held(job.job.id);
  if (done(job, "requeue", answer) || answer.error().is_away) return;
  // Refused also because an earlier requeue, which was not answered, has taken effect just now.
  if (!refresh(job) || !has_ended(job.job.state)) return;
  say_withdrawn(job.number,
                "it was paused, and Slurm refuses to run it again: " + answer.error().message);
  hear_end(job);
}

void SlurmRuns::see_off_running(Followed& job) {
  Run& run = *job.run;
  if (!run.is_told) {
    if (job.job.is_configuring) return;
    tell_started(job);
  }
  if (!run.leave_by) return ask_to_leave(job);
  if (system_.steady_clock() < *run.leave_by || !refresh(job)) return;
  if (job.job.state != SlurmState::running && job.job.state != SlurmState::suspended) return;
  const bool is_cancelled = job.is_own || run.is_outside;
  if (is_cancelled ? done(job, "cancel", slurm_.cancel(job.job.id))
                   : done(job, "requeue", slurm_.requeue_held(job.job.id)))
    run.was_requeued = true;
}

void SlurmRuns::ask_to_leave(Followed& job) {
  Run& run = *job.run;
  if (!refresh(job) || has_ended(job.job.state)) return;
  const StopSignal& declared = run.stop->signal;
  const int number = declared.number != 0 ? declared.number : SIGTERM;
  const SlurmTarget target = declared.leader_only ? SlurmTarget::script : SlurmTarget::workers;
  if (run.stop->grace.us > 0 && job.job.state == SlurmState::running) {
    (void)slurm_.signal(job.job.id, SIGCONT, target);
    const auto answer = slurm_.signal(job.job.id, number, target);
    if (!done(job, "signal", answer) && answer.error().is_away) return;
  }
  run.leave_by = system_.steady_clock() + run.stop->grace;
}

void SlurmRuns::lose(Followed& job, std::string why) {
  RunReport report = report_of(job, Kind::lost);
  report.why = std::move(why);
  finish(job, std::move(report));
}

void SlurmRuns::finish(Followed& job, RunReport report) {
  const bool was_outside = job.run->is_outside;
  const bool has_run = job.run->is_told;
  say(std::move(report));
  job.end_is_told = has_run && has_ended(job.job.state);
  job.run.reset();
  if (job.is_own) {
    ids_.erase(std::exchange(job.number, 0));
    job.is_over = true;
    return sweep(job);
  }
  if (was_outside && job.job.state == SlurmState::pending) {
    ids_.erase(std::exchange(job.number, 0));
    bear_anew(job, "it was requeued in Slurm");
  }
}

}  // namespace trainyard
