// Rooms that are being made: what is free of a room is kept for the job that shall have it, the
// rest is handed over as others leave. Rooms that were asked for together have one lead, by whose
// number those who leave know for whom.
#include <algorithm>

#include "yard/share_order.h"
#include "yard/yard.h"

namespace trainyard {
namespace {

Resources smaller(const Resources& a, const Resources& b) {
  return {std::min(a.gpus, b.gpus), std::min(a.milli_cpus, b.milli_cpus),
          std::min(a.memory_mib, b.memory_mib)};
}

}  // namespace

/// Takes what is free of it.
void Yard::keep_room(Run& room, JobId lead) {
  room.lead = lead;
  room.by_machine = share_order(room.shares);
  for (std::size_t i = 0; i < room.shares.size(); ++i) {
    const Resources need = each(room, i) * room.shares[i].workers;
    const Resources now = smaller(need, free_.on(room.shares[i].machine));
    room.missing.push_back(need - now);
    room.lacking += room.missing.back() == Resources{} ? 0 : 1;
    take(room, i, now);
  }
}

/// Those whose rooms are made take what they still miss on this machine from what was freed for
/// them there, and from nothing else: what others leave meanwhile is anybody's.
void Yard::hand_over(JobId lead, MachineId machine, Resources freed) {
  const auto to = [&](JobId job) {
    Run& room = runs_[room_of(job)];
    const std::size_t i = find_share(room.shares, room.by_machine, machine);
    if (i == room.shares.size() || room.missing[i] == Resources{}) return;
    const Resources amount = smaller(room.missing[i], freed);
    take(room, i, amount);
    freed -= amount;
    room.missing[i] -= amount;
    if (room.missing[i] == Resources{}) --room.lacking;
    tell_of_room(job);
  };
  to(lead);
  for (const JobId job : runs_[room_of(lead)].company) to(job);
}

/// Those whose rooms are complete, unless they have yet to leave where they are.
void Yard::start_ready(JobId lead) {
  const auto is_ready = [this](JobId job) {
    return state(job).phase == Phase::reserved && runs_[state(job).run].lacking == 0;
  };
  std::vector<JobId> company = runs_[room_of(lead)].company;
  if (is_ready(lead)) begin_start(lead);
  for (const JobId job : company)
    if (is_ready(job)) begin_start(job);
}

/// The job has its room, or gives it up. Those whose rooms are made with it stay together.
void Yard::leave_group(JobId job) {
  Run& room = runs_[room_of(job)];
  const JobId lead = std::exchange(room.lead, kNoJob);
  if (lead != job) {
    std::erase(runs_[room_of(lead)].company, job);
    return;
  }
  if (room.company.empty() && room.leaving == 0) return;
  const std::vector<JobId> company = std::exchange(room.company, {});
  const JobId next = company.empty() ? kNoJob : company.front();
  for (const JobId other : company) {
    runs_[room_of(other)].lead = next;
    tell_of_room(other);
  }
  if (next != kNoJob) {
    Run& leading = runs_[room_of(next)];
    leading.company.assign(company.begin() + 1, company.end());
    leading.leaving = room.leaving;
  }
  for (Run& run : runs_) {
    if (run.room_for != job) continue;
    run.room_for = next;
    tell_of_room(run.job);
  }
}

/// A job that moves has left, and waits in its next room for what is missing there.
void Yard::move_in(JobId job, std::uint32_t room) {
  std::erase(moving_, job);
  arrive(job, room);
  Run& run = runs_[room];
  run.at = now_;
  run.saved = run.brought = state(job).done;
  enter(job, Phase::reserved);
  if (run.lacking == 0) begin_start(job);
}

/// A job that moves will not get its next room: it leaves all the same, and queues.
void Yard::give_up_next(JobId job) {
  leave_group(job);
  const std::uint32_t room = std::exchange(runs_[state(job).run].next, kNoRun);
  give_back(runs_[room], kNoJob);
  spare_runs_.push_back(room);
  std::erase(moving_, job);
  tell_of_room(job);
}

/// The room cannot be had any more: the job queues again, and who still leaves leaves for nobody.
void Yard::void_reservation(JobId job) {
  leave_group(job);
  (void)release(job);
  enter(job, Phase::queued);
}

void Yard::void_reservations(MachineId machine) {
  const std::vector<JobId> jobs = jobs_on_[index(machine)];
  for (const JobId job : jobs)
    if (state(job).phase == Phase::reserved) void_reservation(job);
  const std::vector<JobId> moving = moving_;
  for (const JobId job : moving)
    if (std::ranges::find(next_placement(job), machine, &Share::machine) !=
        next_placement(job).end())
      give_up_next(job);
}

}  // namespace trainyard
