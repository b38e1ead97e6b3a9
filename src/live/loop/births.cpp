#include "live/loop/births.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "live/job/utf8.h"
#include "live/loop/disk_budget.h"
#include "live/loop/job_budget.h"

namespace trainyard {
namespace {

using nlohmann::json;

std::size_t gpus_of(const std::vector<WorkerPlace>& places) {
  std::size_t gpus = 0;
  for (const WorkerPlace& worker : places) gpus += worker.gpus.size();
  return gpus;
}

/// The gang that runs there. Workers that have not all as many GPUs count as one for each GPU.
void describe_gang(const std::vector<WorkerPlace>& places, JobSpec& spec) {
  if (gpus_of(places) == 0) return;
  const std::size_t each = places.front().gpus.size();
  const bool is_even = std::ranges::all_of(
      places, [&](const WorkerPlace& worker) { return worker.gpus.size() == each; });
  spec.exclusive = false;
  spec.node.whole = spec.node.alone = false;  // it holds what it holds
  spec.max_workers = 0;
  spec.per_worker.gpus = is_even ? static_cast<std::int32_t>(each) : 1;
  spec.workers = static_cast<std::int32_t>(is_even ? places.size() : gpus_of(places));
}

/// As the journal is able to keep it, and to read it again.
Expected<JobSpec> readable(JobSpec spec, const BirthReport& report) {
  if (spec.name.empty()) spec.name = report.name;
  // What it runs may be the engine's business alone.
  if (spec.command.empty() && spec.script.empty()) spec.command = {report.name};
  describe_gang(report.places, spec);
  return job_spec_from_json(
      json::parse(to_json(spec).dump(-1, ' ', false, json::error_handler_t::replace)));
}

/// For one that cannot be read.
JobSpec stand_in() {
  JobSpec spec;
  spec.name = "unreadable";
  spec.command = {spec.name};
  return spec;
}

}  // namespace

KeptRoom room_on(const std::vector<WorkerPlace>& places, std::int32_t gpus_each,
                 const Cluster& cluster) {
  std::map<MachineId, std::vector<std::int32_t>> by_machine;
  for (const WorkerPlace& worker : places) {
    if (worker.gpus.empty()) continue;
    auto& gpus = by_machine[worker.machine];
    gpus.insert(gpus.end(), worker.gpus.begin(), worker.gpus.end());
  }
  SavedRoom room;
  for (auto& [machine, gpus] : by_machine) {
    room.placement.push_back({machine, static_cast<std::int32_t>(gpus.size()) / gpus_each});
    room.gpus.push_back(std::move(gpus));
  }
  return keep_room(std::move(room), cluster);
}

void Births::hear(BirthReport report) {
  if (!is_utf8(report.name))
    return state_.system.log().write(
        LogLevel::error,
        fmt::format("the engine reports a job {}, whose name is not UTF-8", quoted(report.name)));
  if (state_.newborn_numbers.contains(report.name)) return;  // it is called when it is on disk
  const auto known = state_.journal.born(report.name);
  if (!known) return void(unread_.insert_or_assign(report.name, report));
  if (*known) return hear_again(report, **known);
  take_in(std::move(report));
}

void Births::hear_again(const BirthReport& report, JobNumber number) {
  call(report.name, number);
  const JobRecord* job = state_.book.find(number);
  if (job == nullptr || job->has_ended())
    return state_.later([this, number] { state_.engine.forget({number, 0}); });
  if (!job->runs_outside || job->old_run == OldRun::none) return;
  const KeptRoom room = room_on(report.places, job->spec.per_worker.gpus, *state_.cluster);
  if (room != job->life.room) state_.book.edit(number).life.room = room;
  if (!room.placement.empty()) state_.old_runs.insert(number);
}

void Births::settle() {
  for (auto& [name, report] : std::exchange(unread_, {})) hear(std::move(report));
}

/// One that waits may be refused, as whoever submits it here may be.
Answer<void> Births::check_room(const JobRecord& job) const {
  const JobBook& book = state_.book;
  auto ok = check_budget(book.held_by(job.owner.uid), book.held_by_all(), {1, memory_of(job.spec)},
                         state_.options.memory);
  const auto own = state_.journal.disk_use(job.owner.uid);
  const auto all = state_.journal.disk_use_of_all();
  if (!ok || !own || !all) return ok;
  return check_disk_budget(*own, *all, disk_use_of(job.spec, 1), state_.options.disk);
}

void Births::take_in(BirthReport report) {
  const bool runs = !report.places.empty();
  JobRecord job;
  job.number = ++state_.last_number;
  job.owner = report.owner;
  job.owner.user = as_utf8(report.owner.user);
  job.born_as = report.name;
  auto spec = readable(report.spec, report);
  job.spec = spec ? *spec : readable(stand_in(), report).value_or(stand_in());
  job.submitted = job.life.state.since = state_.now();
  if (runs) {
    job.runs_outside = true, job.runs = 1, job.old_run = OldRun::running;
    job.life.room = room_on(report.places, job.spec.per_worker.gpus, *state_.cluster);
    if (!job.life.room.placement.empty()) state_.old_runs.insert(job.number);
  }
  const auto room = check_room(job);
  const JobNumber number = job.number;
  state_.newborn[number] = take_payload(job.spec);
  state_.newborn_numbers.emplace(report.name, number);
  state_.book.enter(std::move(job));
  ++state_.counters.submitted;
  const JobRecord& entered = state_.book.at(number);
  state_.note(entered, Happening::submitted,
              {{"name", entered.spec.name}, {"born_as", entered.born_as}});
  call(report.name, number);
  if (runs) return;
  if (!spec)
    return gate_.end(number, EventKind::crashed, "it cannot be run: " + spec.error().message);
  if (!room)
    return gate_.end(number, EventKind::crashed, "it is not taken: " + room.error().message);
  (void)gate_.admit(number);  // unreadable now: it is held until the next start
}

void Births::call(const std::string& name, JobNumber job) {
  state_.later([this, name, job] { state_.engine.call(name, job); });
}

}  // namespace trainyard
