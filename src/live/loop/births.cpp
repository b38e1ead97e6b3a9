#include "live/loop/births.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace trainyard {
namespace {

/// The gang that runs there. Workers that have not all as many GPUs count as one for each GPU.
void describe_gang(const std::vector<WorkerPlace>& places, JobSpec& spec) {
  const std::size_t each = places.front().gpus.size();
  const bool is_even = std::ranges::all_of(
      places, [&](const WorkerPlace& worker) { return worker.gpus.size() == each; });
  std::size_t gpus = 0;
  for (const WorkerPlace& worker : places) gpus += worker.gpus.size();
  spec.exclusive = false;
  spec.per_worker.gpus = is_even ? static_cast<std::int32_t>(each) : 1;
  spec.workers = static_cast<std::int32_t>(is_even ? places.size() : gpus);
}

JobLife life_on(const std::vector<WorkerPlace>& places, std::int32_t gpus_each, Time now) {
  std::map<MachineId, std::vector<std::int32_t>> by_machine;
  for (const WorkerPlace& worker : places) {
    auto& gpus = by_machine[worker.machine];
    gpus.insert(gpus.end(), worker.gpus.begin(), worker.gpus.end());
  }
  JobLife life;
  life.state.phase = Phase::running;
  life.state.since = life.state.first_start = now;
  life.progress = begin_progress(now, {}, {});
  for (auto& [machine, gpus] : by_machine) {
    life.room.placement.push_back(
        {machine, static_cast<std::int32_t>(gpus.size()) / std::max(gpus_each, 1)});
    life.room.gpus.push_back(std::move(gpus));
  }
  return life;
}

}  // namespace

Expected<std::optional<JobNumber>> Births::number_of(const std::string& name) const {
  for (const auto& [number, newborn] : state_.newborn)
    if (newborn.name == name) return std::optional(number);
  return state_.journal.born(name);
}

void Births::hear(BirthReport report) {
  const auto known = number_of(report.name);
  if (!known) return waiting_.push_back(std::move(report));
  if (!*known) return take_in(std::move(report));
  const JobNumber number = **known;
  call(report.name, number);
  const JobRecord* job = state_.book.find(number);
  if (job == nullptr || job->has_ended())
    return state_.later([this, number] { state_.engine.forget({number, 0}); });
  if (job->runs_outside && job->is_held()) waiting_.push_back(std::move(report));
}

void Births::settle() {
  for (BirthReport& report : std::exchange(waiting_, {})) {
    const auto known = number_of(report.name);
    if (!known || !*known) {
      hear(std::move(report));
      continue;
    }
    const JobRecord* job = state_.book.find(**known);
    if (job == nullptr || !job->is_held()) continue;
    seat(job->number, report.places);
    if (state_.book.at(job->number).is_held()) waiting_.push_back(std::move(report));
  }
}

void Births::take_in(BirthReport report) {
  const bool runs = !report.places.empty();
  JobRecord job;
  job.number = ++state_.last_number;
  job.owner = std::move(report.owner);
  job.spec = std::move(report.spec);
  if (job.spec.name.empty()) job.spec.name = report.name;
  // What it runs may be the engine's business alone.
  if (job.spec.command.empty() && job.spec.script.empty()) job.spec.command = {report.name};
  if (runs) describe_gang(report.places, job.spec);
  job.born_as = report.name;
  job.submitted = job.life.state.since = state_.now();
  if (runs) job.runs_outside = true, job.runs = 1, job.old_run = OldRun::running;
  const JobNumber number = job.number;
  state_.newborn[number] = {report.name, take_payload(job.spec)};
  state_.book.enter(std::move(job));
  ++state_.counters.submitted;
  const JobRecord& entered = state_.book.at(number);
  state_.note(entered, Happening::submitted,
              {{"name", entered.spec.name}, {"born_as", entered.born_as}});
  call(report.name, number);
  if (!runs) return void(gate_.admit(number));  // unreadable now: it is held until the next start
  seat(number, report.places);
  if (!state_.book.at(number).is_held()) return;
  state_.system.log().write(
      LogLevel::warning,
      fmt::format("job {} ({}) runs outside of our control on GPUs that another job holds", number,
                  quoted(report.name)));
  waiting_.push_back(std::move(report));
}

void Births::call(const std::string& name, JobNumber job) {
  state_.later([this, name, job] { state_.engine.call(name, job); });
}

void Births::seat(JobNumber number, const std::vector<WorkerPlace>& places) {
  JobRecord taken = state_.book.at(number);
  taken.life = life_on(places, taken.spec.per_worker.gpus, state_.now());
  taken.granted = state_.yard.demand(taken.spec);
  if (state_.yard.take_up(taken, state_.now()) != Verdict::ok) return;
  JobRecord& job = state_.book.edit(number);
  job.granted = taken.granted;
  job.old_run = OldRun::none;
  job.has_started = true;
  job.eligible = state_.now();
  state_.update_book();
  state_.note(job, Happening::running, {{"run", job.runs}});
  state_.decisions.is_due = true;
}

}  // namespace trainyard
