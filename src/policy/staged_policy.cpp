#include "policy/staged_policy.h"

#include <algorithm>

#include "base/grow.h"

namespace trainyard {

StagedPolicy::StagedPolicy(PolicyContext& context, Stages stages)
    : yard_(context.yard()), context_(context), stages_(std::move(stages)), finder_(yard_) {
  queue_.reserve(yard_.workload().jobs.size());
}

// --- Keeping up with the yard --------------------------------------------------------------------

template <class Visit>
void StagedPolicy::each_stage(Visit visit) const {
  visit(*stages_.order);
  visit(*stages_.place);
  visit(*stages_.backfill);
  if (stages_.guard) visit(*stages_.guard);
  if (stages_.preempt) visit(*stages_.preempt);
  if (stages_.flow) visit(*stages_.flow);
}

void StagedPolicy::on_phase(JobId job, Phase from, Phase to) {
  each_stage([&](Stage& stage) { stage.on_phase(job, from, to); });
  if (stages_.rooms) stages_.rooms->on_phase(job, from, to);
  if (from == Phase::queued) leave_queue(job);
  if (to == Phase::queued) join_queue(job);
  requeue_changed();
  // One that another policy placed, or whose room was long in the making.
  if (to == Phase::starting && yard_.flow(job) != flow_of(job)) reflow_.push_back(job);
  const bool held = holds_gpus(from) || from == Phase::reserved;
  if (held && !holds_gpus(to)) ++releases_;
}

/// Whoever is in the queue has a lane that there is a memory of.
Queue::Entry StagedPolicy::entry_of(JobId job) {
  const LaneId lane = stages_.place->lane(job);
  grow_to(lanes_, index(lane), 0);
  return {stages_.order->key(job),
          job,
          lane,
          stages_.preempt ? stages_.preempt->claim(job) : 0,
          yard_.shape(job).gpus(),
          yard_.state(job).pauses > 0};
}

void StagedPolicy::join_queue(JobId job) {
  queue_.insert(entry_of(job));
  if (stages_.bounds_waits) by_wait_.insert({context_.overdue().since(job), job});
}

void StagedPolicy::leave_queue(JobId job) {
  queue_.erase(job);
  if (stages_.bounds_waits) by_wait_.erase({context_.overdue().since(job), job});
}

void StagedPolicy::on_machine(MachineId machine, bool up) {
  each_stage([&](Stage& stage) { stage.on_machine(machine); });
  if (up) ++releases_;
  has_machines_.clear();
}

void StagedPolicy::on_outlook(JobId job) {
  each_stage([&](Stage& stage) { stage.on_outlook(job); });
  if (yard_.state(job).phase == Phase::queued) queue_.move(entry_of(job));
}

void StagedPolicy::on_learnt(JobId job, const LearningPoint& point) {
  each_stage([&](Stage& stage) { stage.on_learnt(job, point); });
}

void StagedPolicy::save_learnt(Learnt& learnt) const {
  Policy::save_learnt(learnt);
  each_stage([&](const Stage& stage) { stage.save_learnt(learnt); });
  if (stages_.rooms) stages_.rooms->save_learnt(learnt);
}

void StagedPolicy::recall(const Learnt& learnt, Time now) {
  Policy::recall(learnt, now);
  each_stage([&](Stage& stage) { stage.recall(learnt, now); });
  if (stages_.rooms) stages_.rooms->recall(learnt, now);
}

/// What is known of jobs may change what is believed of them, and their places in the queue.
void StagedPolicy::recall_jobs(const Learnt& learnt) {
  Policy::recall_jobs(learnt);
  each_stage([&](Stage& stage) { stage.recall_jobs(learnt); });
  for (std::uint32_t j = 0; j < yard_.jobs(); ++j) {
    const JobId job{j};
    const Phase phase = yard_.state(job).phase;
    if (!has_ended(phase)) on_outlook(job);
    if (phase == Phase::running && stages_.preempt) stages_.preempt->on_level(job);
  }
}

// --- Deciding ------------------------------------------------------------------------------------

void StagedPolicy::decide(Plan& plan) {
  plan_ = &plan;
  ++round_;
  in_round_ = {};
  if (stages_.rooms) stages_.rooms->begin_round();
  refresh_order(plan);
  if (stages_.preempt) {
    stages_.preempt->list_movers(movers_);
    stages_.preempt->take_rebids(rebids_);
  }
  if (!movers_.empty()) move_closer();
  if (!rebids_.empty()) {
    hold_auction();
  } else {
    serve_queue();
  }
  if (stages_.preempt) plan.wake_at(stages_.preempt->next_rebid());
  if (!by_wait_.empty() && overdue() == kNoJob) wake_for_overdue(plan);
  if (stages_.flow || !reflow_.empty()) write_flows(plan);
  plan_ = nullptr;
}

/// When the next turn may begin: the next job becomes overdue, or the last turn is paid for.
void StagedPolicy::wake_for_overdue(Plan& plan) const {
  const Time next = context_.overdue().next();
  const Duration limit = context_.wait_limit();
  const Time since = std::max(yard_.now(), next) - limit;
  if (next > yard_.now() && by_wait_.front().at < since) return plan.wake_at(next);
  by_wait_.each_from({since, JobId{0}}, [&](const JobAt& waiting) {
    plan.wake_at(waiting.at + limit + microseconds(1));
    return false;
  });
}

void StagedPolicy::serve_queue() {
  while (!queue_.empty()) {
    const JobId late = overdue();
    context_.name_overdue(late);
    const JobId head = late != kNoJob ? late : queue_.front().job;
    if (try_start(head)) continue;
    keeper(late != kNoJob).run(*this, head);
    break;
  }
}

/// Whether there are, if nobody else were there.
bool StagedPolicy::has_machines_for(const Shape& shape) const {
  std::int32_t missing = shape.workers;
  const std::vector<Machine>& machines = yard_.cluster().machines;
  for (std::uint32_t m = 0; m < machines.size() && missing > 0; ++m) {
    if (!yard_.free().is_up(MachineId{m})) continue;
    if (shape.kind != kAnyKind && shape.kind != machines[m].kind) continue;
    missing -= shape.fitting(MachineId{m}, machines[m].capacity, missing);
  }
  return missing == 0;
}

void StagedPolicy::write_flows(Plan& plan) {
  if (stages_.flow) {
    stages_.flow->refresh(reflow_);
    plan.wake_at(stages_.flow->next_change());
  }
  for (const JobId job : reflow_) {
    const Phase phase = yard_.state(job).phase;
    if (holds_gpus(phase) || phase == Phase::reserved) (void)plan.set_flow(job, flow_of(job));
  }
  reflow_.clear();
}

void StagedPolicy::refresh_order(Plan& plan) {
  context_.refresh();
  for (const JobId job : context_.take_outlooks()) on_outlook(job);
  plan.wake_at(context_.next_change());
  stages_.order->refresh(changed_);
  plan.wake_at(stages_.order->next_change());
  stages_.place->refresh(changed_);
  plan.wake_at(stages_.place->next_change());
  requeue_changed();
}

void StagedPolicy::requeue_changed() {
  context_.take_changed(changed_);
  if (changed_.empty()) return;
  for (const JobId job : changed_) {
    const Phase phase = yard_.state(job).phase;
    if (phase == Phase::queued) queue_.move(entry_of(job));
    if (phase == Phase::running && stages_.preempt) stages_.preempt->on_level(job);
  }
  changed_.clear();
}

BackfillStage& StagedPolicy::keeper(bool is_overdue) const {
  return is_overdue && stages_.guard ? *stages_.guard : *stages_.backfill;
}

JobId StagedPolicy::overdue() const {
  JobId longest = kNoJob;
  if (by_wait_.empty() || yard_.now() < context_.overdue().next()) return longest;
  by_wait_.each([&](const JobAt& next) {
    if (!context_.overdue().is_overdue(next.job)) return false;
    if (has_machines(next.job)) longest = next.job;
    return longest == kNoJob;
  });
  return longest;
}

bool StagedPolicy::has_machines(JobId job) const {
  const ShapeId shape = yard_.state(job).shape;
  grow_to(has_machines_, index(shape), 0);
  std::optional<bool>& known = has_machines_[index(shape)];
  if (!known) known = has_machines_for(yard_.shapes()[shape]);
  return *known;
}

bool StagedPolicy::is_closed(LaneId lane) const {
  const LaneMemory& known = lanes_[index(lane)];
  if (known.closed_in_round == round_) return true;
  return !stages_.preempt && known.no_room_since_release == releases_;
}

JobId StagedPolicy::next_to_try(JobId from) {
  const std::int64_t free_gpus = yard_.free().of(kAnyKind).free_gpus;
  return queue_.first_not(
      [&](std::span<const Queue::Entry> entries, Queue::Least& least) {
        if (!least.is_known || least.turn < plan_->wake()) least = least_of(entries);
        return are_known_vain(least, free_gpus);
      },
      [&](const Queue::Entry& entry) {
        const bool knows_when =
            entry.claim >= in_round_.retried_claim &&
            !(entry.was_paused && yard_.no_turn_before(entry.job) < plan_->wake());
        // Thousands are passed here, and what is known of a lane is a load from far away.
        if (knows_when && is_known_vain(entry.gpus, entry.claim, free_gpus)) return true;
        if (is_closed(entry.lane)) return true;
        if (!is_hopeless(entry, free_gpus)) return false;
        if (stages_.preempt && !knows_when) note_retry(entry.job, entry.claim, entry.was_paused);
        return true;
      },
      from);
}

Queue::Least StagedPolicy::least_of(std::span<const Queue::Entry> entries) const {
  Queue::Least least{.is_known = true};
  for (const Queue::Entry& entry : entries) {
    least.gpus = std::min(least.gpus, entry.gpus);
    least.claim = std::min(least.claim, entry.claim);
    if (entry.was_paused) least.turn = std::min(least.turn, yard_.no_turn_before(entry.job));
  }
  return least;
}

/// Whether that is known of all of them, and when it is worth while to try again.
bool StagedPolicy::are_known_vain(const Queue::Least& least, std::int64_t free_gpus) const {
  if (!stages_.preempt) return least.gpus > free_gpus;
  return least.claim >= in_round_.retried_claim && least.turn >= plan_->wake() &&
         is_known_vain(least.gpus, least.claim, free_gpus);
}

/// Whether there cannot be GPUs enough, or nothing has changed since room was looked for in vain.
bool StagedPolicy::is_hopeless(const Queue::Entry& entry, std::int64_t free_gpus) {
  return is_as_it_was(memory(entry.lane), entry.claim, entry.was_paused) ||
         !could_have(entry.gpus, entry.claim, free_gpus);
}

/// False: what is free and what this claim could make free are fewer GPUs, wherever they are.
bool StagedPolicy::could_have(std::int32_t gpus, std::int64_t claim, std::int64_t free_gpus) {
  if (gpus <= free_gpus) return true;
  if (!stages_.preempt || is_known_vain(gpus, claim, free_gpus)) return false;
  const bool has_claim = claim != PreemptStage::kNoClaim;
  if (has_claim && stages_.preempt->could_free(claim, gpus - free_gpus)) return true;
  const bool says_more = has_claim || in_round_.vain_claim == PreemptStage::kNoClaim;
  if (says_more && gpus <= in_round_.vain_gpus) {
    in_round_.vain_claim = claim;
    in_round_.vain_gpus = gpus;
  }
  return false;
}

/// Whether a claim as strong on no more GPUs was in vain in this round.
bool StagedPolicy::is_known_vain(std::int32_t gpus, std::int64_t claim,
                                 std::int64_t free_gpus) const {
  return gpus > free_gpus && claim >= in_round_.vain_claim && gpus >= in_round_.vain_gpus;
}

/// Whether room was looked for in vain for a claim as strong, and nothing has changed since.
bool StagedPolicy::is_as_it_was(const LaneMemory& known, std::int64_t claim, bool was_paused) {
  return known.vain_since_release == releases_ && known.vain_in_state != 0 && !was_paused &&
         claim >= known.vain_claim && known.vain_in_state == stages_.preempt->state();
}

/// When it is worth while to try the job again. Jobs that never gave way wait the less long for the
/// protected the stronger their claim is, so the strongest tells for all that follow.
void StagedPolicy::note_retry(JobId job, std::int64_t claim, bool was_paused) {
  Time retry = plan_->wake();
  if (claim < in_round_.retried_claim) {
    Time soonest = retry;  // had it never given way
    stages_.preempt->find_retry(kNoJob, claim, soonest);
    if (was_paused && soonest < retry) {
      stages_.preempt->find_retry(job, claim, retry);
    } else {
      retry = soonest;
    }
    if (retry == soonest) in_round_.retried_claim = claim;
  }
  if (was_paused) yard_.find_turn(job, retry);
  plan_->wake_at(retry);
}

bool StagedPolicy::try_place(JobId job, const Avoid* avoid) {
  const LaneId lane = stages_.place->lane(job);
  LaneMemory& known = memory(lane);
  if (known.no_room_since_release == releases_) return false;
  const Shape& shape = yard_.shape(job);
  const bool has_gpus = shape.gpus() <= yard_.free().of(shape.kind).free_gpus;
  if (has_gpus && stages_.place->find(job, avoid, scratch_)) {
    if (!leaves_rooms(job, scratch_, {}) &&
        !stages_.place->find(job, &stages_.rooms->kept_from(job, avoid), scratch_))
      return false;
    if (give(job, scratch_)) return true;
  }
  if (avoid == nullptr) known.no_room_since_release = releases_;
  return false;
}

/// They are kept from all but trial jobs and overdue jobs whose turn it is.
bool StagedPolicy::has_rooms_kept_from(JobId job) const {
  return stages_.rooms && !context_.rights().acts_as_trial(job) &&
         !context_.overdue().goes_first(job);
}

/// Whether it takes nothing of what is kept for trial jobs. A silence of theirs may change that.
bool StagedPolicy::leaves_rooms(JobId job, const Placement& there, std::span<const JobId> leave) {
  if (is_auction_ || !has_rooms_kept_from(job)) return true;
  if (!stages_.rooms->would_be_taken(job, there, leave)) return true;
  plan_->wake_at(stages_.rooms->next_look());
  return false;
}

bool StagedPolicy::try_start(JobId job) {
  const LaneId lane = stages_.place->lane(job);
  LaneMemory& known = memory(lane);
  if (known.closed_in_round == round_) return false;
  if (try_place(job, nullptr)) return true;
  if (stages_.preempt && !is_auction_ && try_make_room(job, known)) return true;
  known.closed_in_round = round_;
  return false;
}

/// What the finder holds: room for the job and who leaves it; or, where a stage does not wait for
/// a room that suffices, only who leaves in its favour.
bool StagedPolicy::carry_out(JobId job) {
  if (!finder_.room().empty())
    return plan_->make_room(job, finder_.room(), finder_.victims(), flow_of(job)) == Verdict::ok;
  std::vector<JobChange> pauses;
  for (const JobId victim : finder_.victims())
    pauses.push_back({.job = victim, .in_favour_of = job});
  return plan_->change(pauses) == Verdict::ok;
}

bool StagedPolicy::try_make_room(JobId job, LaneMemory& known) {
  const std::int64_t claim = stages_.preempt->claim(job);
  const bool was_paused = yard_.state(job).pauses > 0;
  const std::int64_t free_gpus = yard_.free().of(kAnyKind).free_gpus;
  if (!is_as_it_was(known, claim, was_paused) &&
      could_have(yard_.shape(job).gpus(), claim, free_gpus)) {
    Time retry = plan_->wake();
    const Reach reach = stages_.place->reach(job);
    if (stages_.preempt->make_room(job, reach, finder_, retry) &&
        leaves_rooms(job, finder_.room(), finder_.victims()) && carry_out(job)) {
      in_round_.retried_claim = PreemptStage::kNoClaim;  // fewer run: ask again
      return true;
    }
    plan_->wake_at(retry);
    known.vain_since_release = releases_;
    known.vain_claim = claim;
    known.vain_in_state = was_paused ? 0 : stages_.preempt->state();
  }
  note_retry(job, claim, was_paused);
  return false;
}

}  // namespace trainyard
