#include "live/engine/memory/memory_world.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <stdexcept>

namespace trainyard {

using Kind = RunReport::Kind;

MemoryWorld::MemoryWorld(const System& clock, Cluster cluster)
    : clock_(clock), cluster_(std::move(cluster)), wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (wake_ < 0) throw std::runtime_error("no eventfd can be had");
}

MemoryWorld::~MemoryWorld() {
  ::close(wake_);
}

// --- What its user decides -----------------------------------------------------------------------

void MemoryWorld::set_script(JobNumber job, MemoryScript script) {
  const std::lock_guard lock(mutex_);
  scripts_.insert_or_assign(job, std::move(script));
}

void MemoryWorld::set_scripts(std::function<MemoryScript(const Launch&)> scripts) {
  const std::lock_guard lock(mutex_);
  other_scripts_ = std::move(scripts);
}

void MemoryWorld::choose_gpus() {
  const std::lock_guard lock(mutex_);
  chooses_gpus_ = true;
}

void MemoryWorld::set_machine(const MachineReport& machine) {
  const std::lock_guard lock(mutex_);
  catch_up();
  machines_.erase(machine.machine);
  if (machine.state != MachineReport::State::up) machines_.emplace(machine.machine, machine);
  say(machine);
  for (auto& [id, run] : runs_) {
    if (run.state != Run::State::starting && run.state != Run::State::running) continue;
    for (std::size_t rank = 0; rank < run.places.size(); ++rank)
      if (is_down(run.places[rank].machine)) run.lives[rank] = false, run.is_broken = true;
    if (run.is_broken && run.state == Run::State::starting)
      run.script.start_fails = "its machine is down";
    if (std::ranges::none_of(run.lives, std::identity{}))
      end(id, run, Kind::lost, clock_.wall_clock(), 0, "its machine is down");
    reckon(id, run);
  }
}

void MemoryWorld::set_cluster(Cluster cluster) {
  const std::lock_guard lock(mutex_);
  catch_up();
  // What is reported after a change that was not heard of yet is of the cluster that comes now.
  const auto is_change = [](const EngineReport& report) {
    return std::holds_alternative<ClusterReport>(report);
  };
  const auto told = std::ranges::find_if(reports_, is_change);
  for (auto report = told; report != reports_.end(); ++report)
    if (auto* run = std::get_if<RunReport>(&*report); run != nullptr && !run->places.empty())
      renumber(run->places, gpus_of(run->places), cluster);
  if (told != reports_.end()) reports_.erase(told);
  for (auto& [id, run] : runs_) {
    renumber(run.places, run.gpus, cluster);
    for (std::size_t rank = 0; rank < run.places.size(); ++rank)
      run.has_lost_gpu |= run.places[rank].gpus.size() < run.gpus[rank].size();
  }
  for (auto& [name, birth] : births_) renumber(birth.report.places, birth.gpus, cluster);
  cluster_ = std::move(cluster);
  say(ClusterReport{});
}

std::vector<std::vector<std::string>> MemoryWorld::gpus_of(
    const std::vector<WorkerPlace>& places) const {
  std::vector<std::vector<std::string>> gpus;
  for (const WorkerPlace& place : places) {
    auto& names = gpus.emplace_back();
    for (const std::int32_t gpu : place.gpus)
      names.push_back(index(place.machine) < cluster_.machines.size()
                          ? gpu_name(cluster_.machine(place.machine), gpu)
                          : std::to_string(gpu));
  }
  return gpus;
}

/// The places of these GPUs in another cluster than the present one. Those that it does not have
/// are left out.
void MemoryWorld::renumber(std::vector<WorkerPlace>& places,
                           const std::vector<std::vector<std::string>>& gpus,
                           const Cluster& next) const {
  for (std::size_t rank = 0; rank < places.size(); ++rank) {
    WorkerPlace& place = places[rank];
    const auto found = std::ranges::find(next.machines, name_of(place.machine), &Machine::name);
    place.machine = MachineId{static_cast<std::uint32_t>(found - next.machines.begin())};
    if (found == next.machines.end()) continue;
    place.gpus.clear();
    for (const std::string& name : gpus[rank])
      if (const auto gpu = find_gpu(*found, name)) place.gpus.push_back(*gpu);
  }
}

void MemoryWorld::bear(BirthReport birth, MemoryScript script) {
  const std::lock_guard lock(mutex_);
  const std::string name = birth.name;
  births_.insert_or_assign(
      name, Birth{birth, gpus_of(birth.places), std::move(script), clock_.wall_clock()});
  say(std::move(birth));
}

void MemoryWorld::withdraw(const std::string& born_as) {
  const std::lock_guard lock(mutex_);
  Birth& birth = births_.at(born_as);
  birth.is_over = birth.is_withdrawn = true;
  say_withdrawn(birth);
}

/// Whoever has a number of it is told, and again whenever it gets one: it may not have been kept.
void MemoryWorld::say_withdrawn(const Birth& birth) {
  if (birth.job == 0 || !birth.is_withdrawn) return;
  RunReport report;
  report.kind = Kind::withdrawn;
  report.id = {birth.job, 0};
  report.at = clock_.wall_clock();
  report.why = "its user has withdrawn it";
  say(std::move(report));
}

Time MemoryWorld::next() const {
  const std::lock_guard lock(mutex_);
  return due_.empty() ? Time::never() : due_.begin()->first;
}

void MemoryWorld::wake() const {
  const std::uint64_t one = 1;
  (void)!::write(wake_, &one, sizeof one);
}

// --- What there is to see ------------------------------------------------------------------------

std::size_t MemoryWorld::living(RunId id) {
  const std::lock_guard lock(mutex_);
  catch_up();
  const auto run = runs_.find(id);
  if (run == runs_.end() || run->second.state != Run::State::running) return 0;
  return static_cast<std::size_t>(std::ranges::count(run->second.lives, true));
}

std::vector<WorkerPlace> MemoryWorld::places(RunId id) {
  const std::lock_guard lock(mutex_);
  catch_up();
  const auto run = runs_.find(id);
  return run == runs_.end() ? std::vector<WorkerPlace>() : run->second.places;
}

std::vector<MemoryWorld::Seen> MemoryWorld::runs() {
  const std::lock_guard lock(mutex_);
  catch_up();
  std::vector<Seen> seen;
  for (const auto& [id, run] : runs_) {
    if (run.state == Run::State::fenced) continue;
    const bool lives = run.state == Run::State::running && std::ranges::count(run.lives, true) > 0;
    const bool was_told = run.leaves != Time::never() || run.is_killed != Time::never();
    seen.push_back({id, lives, run.has_run, was_told, run.state == Run::State::ended, run.end,
                    run.places, run.gpus, run.has_lost_gpu, run.grants, run.began_to_run,
                    run.is_heard, run.output, run.first_told, run.told_to_leave});
  }
  return seen;
}

Cluster MemoryWorld::cluster() const {
  const std::lock_guard lock(mutex_);
  return cluster_;
}

std::map<JobNumber, std::string> MemoryWorld::checkpoints() {
  const std::lock_guard lock(mutex_);
  catch_up();
  return checkpoints_;
}

std::vector<MemoryWorld::Erasure> MemoryWorld::erasures() const {
  const std::lock_guard lock(mutex_);
  return erasures_;
}

std::vector<std::string> MemoryWorld::faults() const {
  const std::lock_guard lock(mutex_);
  return faults_;
}

// --- What the engine is told ---------------------------------------------------------------------

/// What was said to the last engine is said again where it still holds.
void MemoryWorld::attach() {
  catch_up();
  reports_.clear();
  has_looked_for_strays_ = false;
  std::erase_if(births_, [](const auto& birth) {
    return birth.second.stray && birth.second.job == 0;  // found again if it still is one
  });
  for (auto& [id, run] : runs_) run.is_heard = false;
  for (const auto& [name, machine] : machines_) say(machine);
  for (auto& [name, birth] : births_)
    if (!birth.is_over) say(birth.report);
}

Expected<void> MemoryWorld::start(const Launch& launch) {
  catch_up();
  const auto [at, is_new] = runs_.try_emplace(launch.id);
  if (!is_new) return fail("run {} of job {} was begun before", launch.id.run, launch.id.job);
  Run& run = at->second;
  run.state = Run::State::starting;
  run.places = launch.workers;
  run.gpus = gpus_of(run.places);
  run.grants = launch.grants;
  run.output_limit = launch.output_limit;
  run.lives.assign(launch.workers.size(), true);
  if (other_scripts_) run.script = other_scripts_(launch);
  if (const auto birth = births_.find(launch.born_as); birth != births_.end())
    run.script = birth->second.script;
  if (const auto script = scripts_.find(launch.id.job); script != scripts_.end())
    run.script = script->second;
  run.begun = clock_.wall_clock();
  run.is_heard = true;
  run.owner = launch.owner;
  for (const WorkerPlace& place : run.places)
    if (is_down(place.machine)) run.script.start_fails = "its machine is down";
  reckon(launch.id, run);
  wake();
  return {};
}

/// The grace begins anew only if it then ends earlier.
void MemoryWorld::stop(const Stop& stop) {
  catch_up();
  const auto found = runs_.find(stop.id);
  if (found == runs_.end()) return;
  Run& run = found->second;
  const Time now = clock_.wall_clock();
  run.told_to_leave = std::min(run.told_to_leave, now);
  if (run.leaves == Time::never())
    run.leaves = run.script.leaves_after ? now + *run.script.leaves_after : Time::never();
  const Duration kill_wait = stop.signal.number != 0 ? stop.kill_wait : Duration{};
  run.is_killed = std::min(run.is_killed, now + stop.grace + kill_wait);
  if (run.state == Run::State::starting) run.leaves = now;
  reckon(stop.id, run);
  wake();
}

void MemoryWorld::adopt(RunId id) {
  catch_up();
  const auto [at, is_new] = runs_.try_emplace(id);
  Run& run = at->second;
  run.is_heard = true;
  if (is_new || run.state == Run::State::fenced || run.is_forgotten) {
    RunReport report;
    report.kind = Kind::lost, report.id = id, report.at = clock_.wall_clock();
    report.why = "it had not been started when the daemon ended";
    return say(EngineReport(std::move(report)));
  }
  if (run.has_run) {
    RunReport report;
    report.kind = Kind::started, report.id = id, report.at = run.began_to_run;
    if (chooses_gpus_) report.places = run.places;
    say(run, std::move(report));
  }
  if (run.state == Run::State::ended) return say(run, run.end);
  if (run.state == Run::State::running && run.is_broken) say_broken(id, run, clock_.wall_clock());
}

void MemoryWorld::call(const std::string& born_as, JobNumber job) {
  catch_up();
  const auto found = births_.find(born_as);
  if (found == births_.end()) return;
  Birth& birth = found->second;
  birth.job = job;
  if (birth.stray) return call_stray(*birth.stray, job);
  say_withdrawn(birth);
  if (birth.report.places.empty()) return;
  const auto [at, is_new] = runs_.try_emplace({job, 1});
  Run& run = at->second;
  run.is_heard = true;
  if (!is_new) return;
  run.state = Run::State::running;
  run.places = birth.report.places;
  run.gpus = birth.gpus;
  run.lives.assign(run.places.size(), true);
  run.script = birth.script;
  run.begun = run.began_to_run = birth.at;
  run.has_run = true;
  begin_to_write({job, 1}, run);
  reckon({job, 1}, run);
  catch_up();
}

/// As the engine of this machine has it: run directories stay, and tell of jobs that are not known.
std::map<JobNumber, Engine::Trace> MemoryWorld::traces() const {
  std::map<JobNumber, Engine::Trace> traces;
  for (const auto& [id, run] : runs_) {
    Engine::Trace& trace = traces[id.job];
    trace.last_run = std::max(trace.last_run, id.run);
    if (run.state == Run::State::starting || run.state == Run::State::running)
      trace.places = run.places;
  }
  return traces;
}

/// Once all that the journal knows have been adopted: what else lives is a job of its own. It keeps
/// the GPUs that are reported, so those are chosen now at the latest.
void MemoryWorld::report_strays() {
  has_looked_for_strays_ = true;
  for (auto& [id, run] : runs_) {
    const bool lives = run.state == Run::State::starting || run.state == Run::State::running;
    if (!lives || run.is_heard) continue;
    if (chooses_gpus_) choose(run);
    BirthReport report;
    report.name = fmt::format("run {}.{}", id.job, id.run);
    report.owner = run.owner;
    report.spec.name = report.name;
    report.spec.command = {report.name};
    report.places = run.places;
    Birth birth{.report = report, .gpus = run.gpus, .script = {}, .at = run.begun};
    birth.is_over = true;  // it is said again only if it is found again
    birth.stray = id;
    births_.insert_or_assign(report.name, std::move(birth));
    say(std::move(report));
  }
}

/// It is the first run of that job from now on, and none of the old one's begins in its place.
void MemoryWorld::call_stray(RunId stray, JobNumber job) {
  const RunId id{job, 1};
  const auto found = runs_.find(stray);
  if (runs_.contains(id) || found == runs_.end()) return;
  Run& old = found->second;
  due_.erase({old.due, stray});
  old.due = Time::never();
  Run& run = runs_.emplace(id, std::move(old)).first->second;
  found->second = {};
  run.is_heard = true;
  run.end.id = id;
  reckon(id, run);
  if (run.has_run) {
    RunReport report;
    report.kind = Kind::started, report.id = id, report.at = run.began_to_run;
    if (chooses_gpus_) report.places = run.places;
    say(run, std::move(report));
  }
  if (run.state == Run::State::ended) say(run, run.end);
}

void MemoryWorld::forget(RunId id) {
  if (const auto run = runs_.find(id); run != runs_.end()) run->second.is_forgotten = true;
  for (auto& [name, birth] : births_)
    if (birth.job == id.job) birth.is_over = true, birth.is_withdrawn = false;
}

void MemoryWorld::erase_output(JobNumber job, std::uint32_t runs) {
  bool had_output = false;
  for (auto& [id, run] : runs_) {
    if (id.job != job || id.run > runs) continue;
    had_output |= std::exchange(run.has_output, false);
    run.output.clear();
  }
  if (had_output) erasures_.push_back({job, false, clock_.wall_clock()});
}

void MemoryWorld::erase_checkpoints(JobNumber job) {
  if (checkpoints_.erase(job) > 0) erasures_.push_back({job, true, clock_.wall_clock()});
}

std::vector<EngineReport> MemoryWorld::take_reports() {
  std::uint64_t count = 0;
  (void)!::read(wake_, &count, sizeof count);
  catch_up();
  if (!has_looked_for_strays_) report_strays();
  return std::exchange(reports_, {});
}

Expected<Engine::Output> MemoryWorld::output(RunId id, std::int32_t worker, std::uint64_t offset,
                                             std::size_t limit) const {
  const auto run = runs_.find(id);
  if (run == runs_.end() || !run->second.has_output || worker < 0 ||
      static_cast<std::size_t>(worker) >= run->second.places.size())
    return fail("there is no output of worker {} in run {} of job {}", worker, id.run, id.job);
  const std::string& text = run->second.output;
  const std::uint64_t from = std::min<std::uint64_t>(offset, text.size());
  return Engine::Output{from, text.substr(from, limit)};
}

// --- What happens --------------------------------------------------------------------------------

void MemoryWorld::catch_up() {
  while (!due_.empty() && due_.begin()->first <= clock_.wall_clock()) {
    const auto [at, id] = *due_.begin();
    Run& run = runs_.at(id);
    happen(id, run, at);
    reckon(id, run);
  }
}

void MemoryWorld::reckon(RunId id, Run& run) {
  due_.erase({run.due, id});
  run.due = next_of(run);
  if (run.due != Time::never()) due_.emplace(run.due, id);
}

Time MemoryWorld::next_of(const Run& run) {
  if (run.state == Run::State::starting)
    return std::min({run.begun + run.script.start_takes, run.leaves, run.is_killed});
  if (run.state != Run::State::running) return Time::never();
  Time next = std::min(run.leaves, run.is_killed);
  if (run.is_broken) return next;
  next = std::min(next, run.tells);
  if (run.script.runs_for) next = std::min(next, run.began_to_run + *run.script.runs_for);
  if (run.script.breaks_after) next = std::min(next, run.began_to_run + *run.script.breaks_after);
  return next;
}

void MemoryWorld::happen(RunId id, Run& run, Time at) {
  const MemoryScript& script = run.script;
  const bool was_told = at >= run.leaves || at >= run.is_killed;
  if (was_told && run.is_broken) return end(id, run, Kind::lost, at, 0, "a part of it was gone");
  if (at >= run.leaves)
    return end(id, run, Kind::exited, at,
               run.state == Run::State::starting ? 128 + SIGTERM : script.exit_when_told, "");
  if (at >= run.is_killed)
    return end(id, run, Kind::exited, at, 128 + SIGKILL, "killed by signal 9 (SIGKILL)");
  if (run.state == Run::State::starting) return begin_to_run(id, run, at);
  if (script.runs_for && at >= run.began_to_run + *script.runs_for)
    return end(id, run, Kind::exited, at, script.exit_status, "");
  if (at >= run.tells) return tell_progress(id, run, at);
  run.is_broken = true;
  run.lives.front() = false;
  say_broken(id, run, at);
}

void MemoryWorld::say_broken(RunId id, const Run& run, Time at) {
  RunReport report;
  report.kind = Kind::broken, report.id = id, report.at = at;
  const auto gone = std::ranges::find(run.lives, false) - run.lives.begin();
  report.why = fmt::format("worker {} is gone", gone);
  say(run, std::move(report));
}

void MemoryWorld::begin_to_run(RunId id, Run& run, Time at) {
  if (!run.script.start_fails.empty())
    return end(id, run, Kind::lost, at, 0, run.script.start_fails);
  if (!run.script.refused.empty()) return end(id, run, Kind::refused, at, 127, run.script.refused);
  if (chooses_gpus_) choose(run);
  check_places(id, run);
  run.state = Run::State::running;
  run.has_run = true;
  run.began_to_run = at;
  begin_to_write(id, run);
  RunReport report;
  report.kind = Kind::started, report.id = id, report.at = at;
  if (chooses_gpus_) report.places = run.places;
  say(run, report);
  if (!run.script.tells) return;
  run.tells = at + run.script.tells_after;
  if (run.script.tells_after.us == 0) tell_progress(id, run, at);
}

void MemoryWorld::tell_progress(RunId id, Run& run, Time at) {
  const MemoryScript& script = run.script;
  RunReport report;
  report.kind = Kind::progress, report.id = id, report.at = at;
  report.progress = *script.tells;
  const auto [step, is_first] = steps_.try_emplace(id.job, script.tells->step);
  report.progress.step = is_first ? step->second : ++step->second;
  run.first_told = std::min(run.first_told, at);
  run.tells = script.tells_every.us > 0 ? at + script.tells_every : Time::never();
  say(run, std::move(report));
}

void MemoryWorld::begin_to_write(RunId id, Run& run) {
  run.output = run.script.output.substr(0, static_cast<std::size_t>(run.output_limit));
  run.has_output = true;
  if (!run.script.saves.empty()) checkpoints_[id.job] += run.script.saves;
}

void MemoryWorld::end(RunId id, Run& run, Kind kind, Time at, int status, const std::string& why) {
  run.state = Run::State::ended;
  if (run.has_run && !run.script.saves.empty()) checkpoints_[id.job] += run.script.saves;
  run.lives.assign(run.lives.size(), false);
  run.end = {};
  run.end.kind = kind, run.end.id = id, run.end.at = at;
  run.end.steady = at + (clock_.steady_clock() - clock_.wall_clock());
  if (kind == Kind::exited && run.has_run) run.end.ran = at - run.began_to_run;
  run.end.exit_status = status;
  run.end.asked_requeue = kind == Kind::exited && run.script.asks_requeue;
  run.end.was_killed = kind == Kind::exited && status == 128 + SIGKILL;
  run.end.why = why;
  if (run.has_run)
    run.end.output_bytes = static_cast<std::int64_t>(run.output.size() * run.places.size());
  say(run, run.end);
}

/// Does nothing if they were chosen before.
void MemoryWorld::choose(Run& run) {
  if (std::exchange(run.has_chosen, true)) return;
  for (WorkerPlace& place : run.places) {
    const std::size_t wanted = place.gpus.size();
    place.gpus.clear();
    const auto is_ours = [&](std::int32_t gpu) {
      return std::ranges::any_of(run.places, [&](const WorkerPlace& other) {
        return other.machine == place.machine &&
               std::ranges::find(other.gpus, gpu) != other.gpus.end();
      });
    };
    for (std::int32_t gpu = cluster_.machine(place.machine).capacity.gpus - 1;
         gpu >= 0 && place.gpus.size() < wanted; --gpu)
      if (!is_used_beside(run, place.machine, gpu) && !is_ours(gpu)) place.gpus.push_back(gpu);
    std::ranges::sort(place.gpus);
  }
  run.gpus = gpus_of(run.places);
}

void MemoryWorld::check_places(RunId id, const Run& run) {
  for (const WorkerPlace& place : run.places)
    for (const std::int32_t gpu : place.gpus)
      if (is_used_beside(run, place.machine, gpu))
        faults_.push_back(
            fmt::format("run {}.{} began on GPU {} of {}, where another lives", id.job, id.run,
                        gpu_name(cluster_.machine(place.machine), gpu), name_of(place.machine)));
}

/// Empty for one that was taken out of the cluster while something ran there.
std::string MemoryWorld::name_of(MachineId machine) const {
  return index(machine) < cluster_.machines.size() ? cluster_.machine(machine).name : "";
}

bool MemoryWorld::is_down(MachineId machine) const {
  const auto found = machines_.find(name_of(machine));
  return found != machines_.end() && found->second.state == MachineReport::State::down;
}

/// By a process that runs there, also of a job that we have not heard of yet, or by a run that is
/// to have it once it has started.
bool MemoryWorld::is_used_beside(const Run& ours, MachineId machine, std::int32_t gpu) const {
  const std::string name = gpu_name(cluster_.machine(machine), gpu);
  const auto uses = [&](const WorkerPlace& place, const std::vector<std::string>& gpus) {
    return place.machine == machine && std::ranges::find(gpus, name) != gpus.end();
  };
  const auto holds = [&](const Run& run) {
    const bool is_to_have = run.state == Run::State::starting && run.has_chosen;
    return &run != &ours && (run.state == Run::State::running || is_to_have);
  };
  for (const auto& [id, run] : runs_)
    for (std::size_t rank = 0; holds(run) && rank < run.places.size(); ++rank)
      if (run.lives[rank] && uses(run.places[rank], run.gpus[rank])) return true;
  return std::ranges::any_of(births_, [&](const auto& each) {
    const Birth& birth = each.second;
    bool is_used = false;
    for (std::size_t rank = 0; rank < birth.gpus.size(); ++rank)
      is_used |= uses(birth.report.places[rank], birth.gpus[rank]);
    return birth.job == 0 && !birth.is_over && is_used;
  });
}

void MemoryWorld::say(const Run& run, RunReport report) {
  if (run.is_heard && !run.is_forgotten) say(EngineReport(std::move(report)));
}

void MemoryWorld::say(EngineReport report) {
  reports_.push_back(std::move(report));
  wake();
}

}  // namespace trainyard
