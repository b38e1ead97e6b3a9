#include "live/loop/old_runs.h"

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>

namespace trainyard {
namespace {

/// What a worker of each share has: what there is of CPUs and memory, if that is less than such a
/// job would get. It runs all the same.
std::vector<Resources> what_is_left(const JobSpec& spec, const Placement& placement,
                                    const Yard& yard) {
  std::vector<Resources> amounts;
  for (const Share& share : placement) {
    const Resources& left = yard.free().on(share.machine);
    const std::int32_t workers = std::max(share.workers, 1);
    Resources each = share_on(spec, yard.cluster().machine(share.machine));
    each.milli_cpus = std::min(each.milli_cpus, left.milli_cpus / workers);
    each.memory_mib = std::min(each.memory_mib, left.memory_mib / workers);
    amounts.push_back(each);
  }
  return amounts;
}

}  // namespace

void OldRuns::settle() {
  std::erase_if(state_.old_runs, [&](JobNumber number) {
    const JobRecord* job = state_.book.find(number);
    if (job == nullptr || job->old_run == OldRun::none || job->has_ended()) return true;
    return job->runs_outside && seat(number);
  });
  close_their_machines();
}

bool OldRuns::seat(JobNumber number) {
  JobRecord taken = state_.book.at(number);
  const Placement& placement = taken.life.room.placement;
  const bool is_known = std::ranges::all_of(placement, [&](const Share& share) {
    return index(share.machine) < state_.cluster->machines.size();
  });
  if (!is_known) return false;
  JobState& state = taken.life.state;
  state.phase = Phase::running;
  state.since = state.first_start = state_.now();
  taken.life.progress = begin_progress(state_.now(), {}, {});
  taken.life.room.each = what_is_left(taken.spec, placement, state_.yard.yard());
  taken.granted = least_of(taken.life.room.each);
  if (state_.yard.take_up(taken, state_.now()) != Verdict::ok) return false;
  JobRecord& job = state_.book.edit(number);
  job.granted = taken.granted;
  job.old_run = OldRun::none;
  job.has_started = true;
  job.eligible = state_.now();
  state_.update_book();
  state_.note(job, Happening::running, {{"run", job.runs}});
  state_.decisions.is_due = true;
  return true;
}

void OldRuns::close_their_machines() {
  std::set<std::string> where;
  for (const JobNumber number : state_.old_runs)
    for (const Share& share : state_.book.at(number).life.room.placement)
      if (index(share.machine) < state_.cluster->machines.size())
        where.insert(state_.cluster->machine(share.machine).name);
  std::vector<std::string> changed;
  std::ranges::set_symmetric_difference(where, closed_, std::back_inserter(changed));
  for (const std::string& name : changed) {
    const bool closes = where.contains(name);
    state_.machines[name].has_old_run = closes;
    if (const auto machine = find_machine(*state_.cluster, name)) state_.update_machine(*machine);
    if (closes)
      state_.system.log().write(
          LogLevel::warning,
          fmt::format("machine {} starts nothing new until a run that is not ours, or that has to "
                      "leave, has its place or has ended",
                      name));
  }
  closed_ = std::move(where);
}

}  // namespace trainyard
