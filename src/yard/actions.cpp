// What a plan asks for: checked here, before anything is changed, and then begun.
#include <algorithm>

#include "yard/share_order.h"
#include "yard/yard.h"

namespace trainyard {
namespace {

bool are_distinct(std::vector<JobId>& jobs) {
  std::ranges::sort(jobs);
  return std::ranges::adjacent_find(jobs) == jobs.end();
}

/// Without the product of demand and workers, which a plan could make overflow.
bool fit(const Resources& each, std::int32_t count, const Resources& room) {
  return workers_that_fit(each, room, count) == count;
}

}  // namespace

// --- Checks --------------------------------------------------------------------------------------

Verdict Yard::check_place(JobId job, const Placement& placement) const {
  const Shape& shape = this->shape(job);
  const Job& wanted = this->job(job);
  const std::int32_t most = wanted.is_elastic() ? wanted.max_workers : shape.workers;
  std::int32_t left = most;
  if (placement.size() > 1 && !names_machines_once(placement)) return Verdict::wrong_gang;
  for (const Share& share : placement) {
    if (index(share.machine) >= cluster_.machines.size()) return Verdict::no_such_subject;
    if (share.workers <= 0 || share.workers > left) return Verdict::wrong_gang;
    left -= share.workers;
    if (!free_.is_up(share.machine)) return Verdict::machine_is_down;
    if (shape.kind != kAnyKind && cluster_.machine(share.machine).kind != shape.kind)
      return Verdict::wrong_kind;
    if (shape.fit != nullptr && shape.demand(share.machine) == kForbidden)
      return Verdict::forbidden;
  }
  const std::int32_t least = wanted.is_elastic() ? wanted.min_workers : most;
  return most - left >= least ? Verdict::ok : Verdict::wrong_gang;
}

Verdict Yard::check_gang(JobId job, const Placement& placement) const {
  if (index(job) >= states_.size()) return Verdict::no_such_subject;
  if (state(job).phase != Phase::queued) return Verdict::wrong_phase;
  return check_place(job, placement);
}

Verdict Yard::check_victims(JobId job, std::span<const JobId> victims) const {
  if (victims.size() > 1) {
    scratch_.jobs.assign(victims.begin(), victims.end());
    if (!are_distinct(scratch_.jobs)) return Verdict::victim_unneeded;
  }
  for (const JobId victim : victims) {
    if (index(victim) >= states_.size()) return Verdict::no_such_subject;
    if (state(victim).phase != Phase::running) return Verdict::wrong_phase;
    if (pausable_from(victim, job) > now_) return Verdict::victim_protected;
  }
  return Verdict::ok;
}

Verdict Yard::check_room(JobId job, const Placement& room, std::span<const JobId> victims) const {
  // What each machine of the room has free, with what the victims would free there.
  std::vector<Resources>& there = scratch_.there;
  there.clear();
  for (const Share& share : room) there.push_back(free_.on(share.machine));
  const std::vector<std::uint32_t> by_machine = share_order(room);
  const auto each_in_room = [&](JobId victim, auto visit) {
    const Placement& shares = placement(victim);
    for (std::size_t s = 0; s < shares.size(); ++s)
      if (const std::size_t i = find_share(room, by_machine, shares[s].machine); i < room.size())
        visit(i, held(victim, s));
  };
  for (const JobId victim : victims)
    each_in_room(victim, [&](std::size_t i, const Resources& freed) { there[i] += freed; });
  const auto fits = [&](std::size_t i, const Resources& free) {
    return fit(shape(job).demand(room[i].machine), room[i].workers, free);
  };
  for (std::size_t i = 0; i < room.size(); ++i)
    if (!fits(i, there[i])) return Verdict::no_room;
  for (const JobId victim : victims) {
    bool needed = false;
    each_in_room(victim, [&](std::size_t i, const Resources& freed) {
      needed = needed || !fits(i, there[i] - freed);
    });
    if (!needed) return Verdict::victim_unneeded;
  }
  return Verdict::ok;
}

/// One job's part of a group, without a look at the others.
Verdict Yard::check_change(const JobChange& change) const {
  if (index(change.job) >= states_.size()) return Verdict::no_such_subject;
  const Phase phase = state(change.job).phase;
  if (phase != Phase::queued && phase != Phase::running) return Verdict::wrong_phase;
  if (phase == Phase::queued && change.to.empty()) return Verdict::no_change;
  if (!change.to.empty())
    if (const Verdict verdict = check_place(change.job, change.to); verdict != Verdict::ok)
      return verdict;
  if (phase == Phase::queued) return Verdict::ok;
  if (change.to == placement(change.job)) return Verdict::no_change;
  if (change.in_favour_of != kNoJob && index(change.in_favour_of) >= states_.size())
    return Verdict::no_such_subject;
  const bool moves = change.in_favour_of == kNoJob && !change.to.empty();
  const Time from =
      moves ? movable_from(change.job) : pausable_from(change.job, change.in_favour_of);
  return from > now_ ? Verdict::victim_protected : Verdict::ok;
}

/// Whether all that arrive fit into what is free and what those free who leave.
Verdict Yard::check_rooms(std::span<const JobChange> group) const {
  std::vector<MachineId>& machines = scratch_.machines;
  machines.clear();
  for (const JobChange& change : group)
    for (const Share& share : change.to) machines.push_back(share.machine);
  std::ranges::sort(machines);
  machines.erase(std::unique(machines.begin(), machines.end()), machines.end());
  std::vector<Resources>& there = scratch_.there;
  there.clear();
  for (const MachineId machine : machines) there.push_back(free_.on(machine));
  const auto find = [&](MachineId machine) -> Resources* {
    const auto found = std::ranges::lower_bound(machines, machine);
    if (found == machines.end() || *found != machine) return nullptr;
    return &there[static_cast<std::size_t>(found - machines.begin())];
  };
  for (const JobChange& change : group) {
    if (state(change.job).phase != Phase::running) continue;
    const Placement& shares = placement(change.job);
    for (std::size_t i = 0; i < shares.size(); ++i)
      if (Resources* room = find(shares[i].machine)) *room += held(change.job, i);
  }
  for (const JobChange& change : group)
    for (const Share& share : change.to) {
      const Resources& each = shape(change.job).demand(share.machine);
      Resources& room = *find(share.machine);
      if (!fit(each, share.workers, room)) return Verdict::no_room;
      room -= each * share.workers;
    }
  return Verdict::ok;
}

// --- Actions -------------------------------------------------------------------------------------

Verdict Yard::start(JobId job, const Placement& placement, FlowClass flow) {
  if (const Verdict verdict = check_gang(job, placement); verdict != Verdict::ok) return verdict;
  for (const Share& share : placement)
    if (!fit(shape(job).demand(share.machine), share.workers, free_.on(share.machine)))
      return Verdict::no_room;
  Run& run = open_run(job, placement);
  run.flow = flow;
  for (std::size_t i = 0; i < placement.size(); ++i) take(run, i, held(job, i));
  begin_start(job);
  return Verdict::ok;
}

Verdict Yard::make_room(JobId job, const Placement& room, std::span<const JobId> victims,
                        FlowClass flow) {
  if (victims.empty()) return start(job, room, flow);
  if (const Verdict verdict = check_gang(job, room); verdict != Verdict::ok) return verdict;
  if (const Verdict verdict = check_victims(job, victims); verdict != Verdict::ok) return verdict;
  if (const Verdict verdict = check_room(job, room, victims); verdict != Verdict::ok)
    return verdict;
  Run& run = open_run(job, room);
  keep_room(run, job);
  run.flow = flow;
  run.leaving = static_cast<std::uint32_t>(victims.size());
  enter(job, Phase::reserved);
  for (const JobId victim : victims) begin_pause(victim, job, job);
  return Verdict::ok;
}

Verdict Yard::change(std::span<const JobChange> group) {
  if (group.empty()) return Verdict::no_change;
  std::vector<JobId>& jobs = scratch_.jobs;
  jobs.clear();
  for (const JobChange& change : group) {
    if (const Verdict verdict = check_change(change); verdict != Verdict::ok) return verdict;
    jobs.push_back(change.job);
  }
  if (!are_distinct(jobs)) return Verdict::victim_unneeded;
  if (const Verdict verdict = check_rooms(group); verdict != Verdict::ok) return verdict;

  std::vector<JobId> arriving;
  for (const JobChange& change : group)
    if (!change.to.empty()) arriving.push_back(change.job);
  std::ranges::sort(arriving);
  const JobId lead = arriving.empty() ? kNoJob : arriving.front();
  const auto keep = [&](const JobChange& change) {
    const std::uint32_t room = new_run(change.job, change.to);
    keep_room(runs_[room], lead);
    runs_[room].flow = change.flow;
    return room;
  };
  const auto runs = [&](const JobChange& change) {
    return state(change.job).phase == Phase::running;
  };
  // Those that wait take what is free first: those that move cannot use it yet.
  for (const JobChange& change : group)
    if (!runs(change)) arrive(change.job, keep(change));
  for (const JobChange& change : group) {
    if (!runs(change) || change.to.empty()) continue;
    const std::uint32_t room = keep(change);
    runs_[state(change.job).run].next = room;
    moving_.push_back(change.job);
  }
  for (const JobChange& change : group)
    if (!runs(change)) enter(change.job, Phase::reserved);
  std::uint32_t leaving = 0;
  for (const JobChange& change : group)
    if (runs(change)) begin_pause(change.job, lead, change.in_favour_of), ++leaving;
  if (lead == kNoJob) return Verdict::ok;
  Run& leading = runs_[room_of(lead)];
  leading.company.assign(arriving.begin() + 1, arriving.end());
  leading.leaving = leaving;
  start_ready(lead);
  return Verdict::ok;
}

/// One whose room is being made is told when it starts.
Verdict Yard::set_flow(JobId job, FlowClass flow) {
  if (index(job) >= states_.size()) return Verdict::no_such_subject;
  const Phase phase = state(job).phase;
  if (!holds_gpus(phase) && phase != Phase::reserved) return Verdict::wrong_phase;
  if (phase == Phase::draining && room_of(job) != kNoRun) runs_[room_of(job)].flow = flow;
  if (std::exchange(runs_[state(job).run].flow, flow) == flow) return Verdict::ok;
  if (holds_gpus(phase)) orders_.push_back({Order::Kind::flow, job, flow});
  for (YardListener* listener : listeners_) listener->on_flow(job);
  return Verdict::ok;
}

// --- What if? ------------------------------------------------------------------------------------

void Yard::suppose_left(JobId job) {
  supposed_gone_.push_back(job);
  for (std::size_t i = 0; i < placement(job).size(); ++i) {
    const MachineId machine = placement(job)[i].machine;
    free_.give(machine, held(job, i));
    supposed_.emplace_back(machine, held(job, i));
  }
}

void Yard::suppose_placed(JobId job, const Placement& there) {
  const bool stays = holds_gpus(state(job).phase) && there == placement(job);
  for (std::size_t i = 0; i < there.size(); ++i) {
    const Share& share = there[i];
    const Resources taken = stays ? held(job, i) : shape(job).demand(share.machine) * share.workers;
    free_.take(share.machine, taken);
    supposed_.emplace_back(share.machine, Resources{} - taken);
  }
}

void Yard::end_supposing() {
  for (; !supposed_.empty(); supposed_.pop_back())  // the last first: nothing is ever below zero
    free_.take(supposed_.back().first, supposed_.back().second);
  supposed_gone_.clear();
}

void Yard::begin_start(JobId job) {
  JobState& state = states_[index(job)];
  if (runs_[state.run].lead != kNoJob) leave_group(job);
  if (state.first_start == Time::never()) state.first_start = now_;
  Run& run = runs_[state.run];
  if (speed_ != nullptr) run.rate = speed_->rate(this->job(job), run.shares);
  orders_.push_back({Order::Kind::start, job, run.flow});
  enter(job, Phase::starting);
}

void Yard::begin_pause(JobId job, JobId lead, JobId in_favour_of) {
  JobState& state = states_[index(job)];
  runs_[state.run].room_for = lead;
  book(job, progress(job));
  ++state.pauses;
  if (in_favour_of != kNoJob) {
    if (turns_.is_full(job))
      turns_.keep(job,
                  [&](JobId other, std::uint32_t) { return !has_ended(this->state(other).phase); });
    const std::uint32_t times = turns_.note(job, in_favour_of);
    turns_.expect(job, std::min(pausable_from(in_favour_of, times), now_ + rules_.turn));
  }
  orders_.push_back({Order::Kind::pause, job});
  enter(job, Phase::draining);
}

}  // namespace trainyard
