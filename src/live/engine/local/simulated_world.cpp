#include "live/engine/local/simulated_world.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>

#include "live/engine/local/supervisor_link.h"
#include "live/engine/local/traces.h"
#include "live/system/held_port.h"

namespace trainyard {
namespace {

using Kind = RunReport::Kind;
namespace fs = std::filesystem;

constexpr Duration kSpawnTakes = microseconds(5'000);
constexpr Duration kFaultAfter = seconds(7);  // of one that runs

/// "17.2", of the directory's name.
RunId id_of(const std::string& directory) {
  RunId id;
  const std::string name = fs::path(directory).filename();
  id.job = std::stoll(name);
  id.run = static_cast<std::uint32_t>(std::stoul(name.substr(name.find('.') + 1)));
  return id;
}

bool is_gone(SupervisorFault fault, SupervisorFault dies, SupervisorFault hangs) {
  return fault == dies || fault == hangs;
}

}  // namespace

// --- What its user decides -----------------------------------------------------------------------

void SimulatedWorld::set_script(JobNumber job, MemoryScript script) {
  scripts_.insert_or_assign(job, std::move(script));
}

SimulatedRun SimulatedWorld::run_of(RunId id) const {
  if (const auto script = scripts_.find(id.job); script != scripts_.end())
    return {.script = script->second};
  return other_runs_ ? other_runs_(id) : SimulatedRun{};
}

Time SimulatedWorld::next() const {
  Time next = Time::never();
  for (const auto& [number, of] : supervisors_) next = std::min(next, of.due);
  return next;
}

void SimulatedWorld::catch_up() {
  for (;;) {
    const auto first = std::ranges::min_element(supervisors_, {},
                                                [](const auto& each) { return each.second.due; });
    if (first == supervisors_.end() || first->second.due > clock_.steady_clock()) return;
    Supervisor& of = first->second;
    happen(of, of.due);
    of.due = next_of(of);
  }
}

// --- What goes wrong -----------------------------------------------------------------------------

bool SimulatedWorld::kill_one(Random& lots) {
  catch_up();
  std::vector<Supervisor*> living;
  for (auto& [number, of] : supervisors_)
    if (of.lives && !of.is_left_behind) living.push_back(&of);
  if (living.empty()) return false;
  die(*living[lots.below(living.size())], clock_.steady_clock());
  return true;
}

void SimulatedWorld::lose_power(Random& lots) {
  catch_up();
  for (auto& [number, of] : supervisors_) {
    of.workers = 0;
    if (of.lives) die(of, clock_.steady_clock());
    // The daemon removes run.json when it has recorded the end.
    if (!fs::exists(of.directory + "/run.json") || lots.below(2) == 0) continue;
    of.end.kind = Kind::lost;
    written_.erase(of.id);
    if (lots.below(2) == 0) {
      fs::remove_all(of.directory);
      continue;
    }
    for (const auto& file : fs::directory_iterator(of.directory))
      if (file.is_regular_file() && lots.below(3) == 0)
        fs::resize_file(file, lots.below(file.file_size() + 1));
  }
  ended_.clear();
  started_.clear();
}

void SimulatedWorld::leave_behind() {
  catch_up();
  for (auto& [number, of] : supervisors_) {
    of.is_left_behind = true;
    if (of.lives || of.workers > 0) of.end.kind = Kind::lost;
    of.lives = false, of.workers = 0;
    of.due = Time::never();
  }
  by_directory_.clear();
  ended_.clear();
  started_.clear();
}

// --- What there is to see ------------------------------------------------------------------------

std::size_t SimulatedWorld::living(RunId id) {
  catch_up();
  std::size_t count = 0;
  for (const auto& [number, of] : supervisors_)
    if (of.id == id) count += of.workers;
  return count;
}

std::vector<MemoryWorld::Seen> SimulatedWorld::runs() {
  catch_up();
  std::vector<MemoryWorld::Seen> seen;
  for (const auto& [number, of] : supervisors_)
    seen.push_back({.id = of.id,
                    .lives = of.workers > 0,
                    .has_run = of.has_run,
                    .was_told = of.stop.has_begun(),
                    .has_ended = !of.lives && of.workers == 0,
                    .end = of.end,
                    .places = places_of(of.plan, {}),
                    .gpus = of.plan.gpu_names,
                    .grants = {of.plan.gpus.size(), of.plan.per_worker},
                    .began_to_run = of.began_to_run,
                    .output = {}});
  return seen;
}

void SimulatedWorld::check_places(const Supervisor& of) {
  const auto uses = [](const Supervisor& who, std::int32_t gpu) {
    return std::ranges::any_of(who.plan.gpus, [&](const auto& gpus) {
      return std::ranges::find(gpus, gpu) != gpus.end();
    });
  };
  for (const auto& [number, other] : supervisors_)
    for (const auto& gpus : of.plan.gpus)
      for (const std::int32_t gpu : gpus)
        if (&other != &of && other.workers > 0 && uses(other, gpu))
          faults_.push_back(fmt::format("run {}.{} began on GPU {}, where run {}.{} lives",
                                        of.id.job, of.id.run, gpu, other.id.job, other.id.run));
  for (const auto& [number, other] : supervisors_)
    if (&other != &of && other.workers > 0 && other.plan.master_port == of.plan.master_port)
      faults_.push_back(fmt::format("run {}.{} has port {}, as run {}.{} which lives", of.id.job,
                                    of.id.run, of.plan.master_port, other.id.job, other.id.run));
}

// --- For the host --------------------------------------------------------------------------------

/// Few are wanted first, so that runs side by side want the same.
int SimulatedWorld::free_port(JobNumber job) const {
  int port = kFirstJobPort + static_cast<int>(job % 3);
  const auto is_held = [&](const auto& each) {
    return (each.second.lives || each.second.workers > 0) && each.second.port == port;
  };
  while (std::ranges::any_of(supervisors_, is_held)) ++port;
  return port;
}

SimulatedWorld::Number SimulatedWorld::spawn(const std::string& directory) {
  catch_up();
  const Number number = static_cast<Number>(supervisors_.size()) + 1;
  Supervisor& of = supervisors_[number];
  of.number = number;
  of.id = id_of(directory);
  of.directory = directory;
  of.what = run_of(of.id);
  if (const auto plan = parse_run_plan(read_small_file(directory + "/run.json").value_or("")))
    of.port = plan->master_port;
  of.spawned = clock_.steady_clock();
  of.due = next_of(of);
  of.end.kind = Kind::lost;
  by_directory_[directory] = number;
  return number;
}

/// As the lock tells, which it holds from its beginning on.
SimulatedWorld::Number SimulatedWorld::find(const std::string& directory) const {
  const auto found = by_directory_.find(directory);
  if (found == by_directory_.end()) return 0;
  const Supervisor& of = supervisors_.at(found->second);
  const bool holds_lock =
      of.lives && of.state != Supervisor::State::spawned && fs::exists(directory + "/lock");
  return holds_lock ? found->second : 0;
}

void SimulatedWorld::signal(Number number, int signal) {
  catch_up();
  Supervisor& of = supervisors_.at(number);
  if (!of.lives) return;
  const Time now = clock_.steady_clock();
  if (signal == SIGKILL && of.what.fault != SupervisorFault::cannot_be_killed) die(of, now);
  if (signal != SIGUSR1 || of.is_hung) return;
  of.has_order = true;
  if (of.state == Supervisor::State::running) read_order(of, now);
  of.due = next_of(of);
}

bool SimulatedWorld::has_processes(Number number) const {
  return supervisors_.at(number).workers > 0;
}

bool SimulatedWorld::clear(const std::string& directory) {
  catch_up();
  const auto found = by_directory_.find(directory);
  if (found == by_directory_.end()) return true;
  Supervisor& of = supervisors_.at(found->second);
  if (of.workers > 0 && --of.clears <= 0) of.workers = 0;
  return of.workers == 0;
}

// --- What happens --------------------------------------------------------------------------------

Time SimulatedWorld::next_of(const Supervisor& of) const {
  using State = Supervisor::State;
  if (!of.lives || of.state == State::over) return Time::never();
  // Workers end by themselves, whether or not their supervisor sees it.
  if (of.is_hung)
    return of.workers > 0 && of.what.script.runs_for ? of.began_to_run + *of.what.script.runs_for
                                                     : Time::never();
  if (of.state == State::spawned) return of.spawned + kSpawnTakes;
  if (of.state == State::begun)
    return of.has_order ? of.spawned + kSpawnTakes
                        : of.spawned + kSpawnTakes + of.what.script.start_takes;
  Time next = std::min(of.stop.next(), of.leaves);
  if (of.what.script.runs_for) next = std::min(next, of.began_to_run + *of.what.script.runs_for);
  if (is_gone(of.what.fault, SupervisorFault::dies_beside_workers,
              SupervisorFault::hangs_beside_workers))
    next = std::min(next, of.began_to_run + kFaultAfter);
  return next;
}

void SimulatedWorld::happen(Supervisor& of, Time at) {
  using State = Supervisor::State;
  if (of.is_hung) return (void)(of.workers = 0);
  if (of.state == State::spawned) return begin(of, at);
  if (of.state == State::begun) return start_workers(of, at);
  run_on(of, at);
}

void SimulatedWorld::begin(Supervisor& of, Time at) {
  if (of.what.fault == SupervisorFault::dies_before_it_begins) return die(of, at);
  auto files = begin_run(of.directory);
  const auto plan = read_plan(of.directory);
  if (!files || !plan) return die(of, at);
  of.files = std::move(*files);
  of.plan = *plan;
  of.state = Supervisor::State::begun;
}

void SimulatedWorld::start_workers(Supervisor& of, Time at) {
  const MemoryScript& script = of.what.script;
  if (of.what.fault == SupervisorFault::dies_before_workers) return die(of, at);
  if (of.what.fault == SupervisorFault::hangs_before_workers) {
    of.is_hung = true;
    return;
  }
  if (!script.start_fails.empty()) return die(of, at);
  if (of.has_order) {
    read_order(of, at);
    return record(of, at, {.status = 128 + SIGTERM, .why = "stopped before it began"});
  }
  if (!script.refused.empty())
    return record(of, at, {.kind = RunEnd::Kind::refused, .status = 127, .why = script.refused});
  check_places(of);
  of.workers = of.plan.gpus.size();
  of.has_run = true;
  of.began_to_run = at;
  of.state = Supervisor::State::running;
  write_what_jobs_write(of, at);
  const std::string text = std::to_string(wall(at).us);
  std::ignore = ::pwrite(of.files.started.get(), text.data(), text.size(), 0);
  of.files.started.reset();
  started_.push_back(of.directory);
}

void SimulatedWorld::write_what_jobs_write(Supervisor& of, Time at) {
  const MemoryScript& script = of.what.script;
  for (std::size_t worker = 0; worker < of.plan.gpus.size(); ++worker)
    LogWriter(of.directory, static_cast<std::int32_t>(worker), of.plan.output_limit)
        .write(script.output, at);
  written_[of.id] = of.plan.output_limit < kLeastOutput ? "" : script.output;
  const UserDirectory own = job_directory(of.directory);
  if (script.tells)
    std::ofstream(own.told_to_user("report.json"))
        << fmt::format(R"({{"step": {}, "total": 100}})", script.tells->step);
  if (script.asks_requeue) std::ofstream(own.told_to_user("requeue"));
  set_trap(of, "report.json");
  Saved& saved = saved_[of.id.job];
  saved.path = checkpoint_directory(of.plan).told_to_user("model");
  saved.text += fmt::format("run {}\n", of.id.run);
  std::ofstream(saved.path, std::ios::app) << fmt::format("run {}\n", of.id.run);
}

void SimulatedWorld::set_trap(const Supervisor& of, const std::string& name) const {
  const UserDirectory own = job_directory(of.directory);
  const std::string path = own.told_to_user(name), other = own.told_to_user("other");
  if (of.what.trap == FileTrap::none) return;
  std::error_code none;
  fs::remove_all(path, none);
  if (of.what.trap == FileTrap::fifo) ::mkfifo(path.c_str(), 0600);
  if (of.what.trap == FileTrap::link) fs::create_symlink(of.directory + "/run.json", path, none);
  if (of.what.trap == FileTrap::directory) fs::create_directory(path, none);
  if (of.what.trap == FileTrap::second_name) {
    std::ofstream(other) << R"({"step": 666})";
    fs::create_hard_link(other, path, none);
  }
  if (of.what.trap == FileTrap::huge) {
    std::ofstream(path) << "x";
    fs::resize_file(path, std::uintmax_t{1} << 40, none);
  }
}

void SimulatedWorld::run_on(Supervisor& of, Time at) {
  const MemoryScript& script = of.what.script;
  const bool strikes = at >= of.began_to_run + kFaultAfter;
  if (strikes && of.what.fault == SupervisorFault::dies_beside_workers) return die(of, at);
  if (strikes && of.what.fault == SupervisorFault::hangs_beside_workers) {
    of.is_hung = true;
    return;
  }
  using Step = StopSequence::Step;
  for (Step step = of.stop.take(at); step != Step::none; step = of.stop.take(at)) {
    if (step == Step::kill) return finish(of, at, 128 + SIGKILL, "killed by signal 9 (SIGKILL)");
    if (script.leaves_after) of.leaves = std::min(of.leaves, at + *script.leaves_after);
  }
  if (at >= of.leaves) return finish(of, at, script.exit_when_told, "");
  if (script.runs_for && at >= of.began_to_run + *script.runs_for)
    finish(of, at, script.exit_status, "");
}

void SimulatedWorld::read_order(Supervisor& of, Time at) {
  const auto text = read_small_file(of.directory + "/stop");
  const auto order = text ? parse_stop_order(*text) : tl::make_unexpected(text.error());
  of.stop.order(order.value_or(of.plan.stop), at);
}

/// All of its workers are gone.
void SimulatedWorld::finish(Supervisor& of, Time at, int status, const std::string& why) {
  of.workers = 0;
  const SupervisorFault fault = of.what.fault;
  if (fault == SupervisorFault::hangs_before_end || fault == SupervisorFault::cannot_be_killed) {
    of.is_hung = true;
    return;
  }
  if (fault == SupervisorFault::dies_before_end) {
    std::ignore = ::pwrite(of.files.end.get(), "{\"kind\": \"exi", 13, 0);
    return die(of, at);
  }
  if (of.stop.has_begun()) std::ofstream(job_directory(of.directory).told_to_user("saved"));
  set_trap(of, "saved");
  record(of, at,
         {.status = status,
          .ran = at - of.began_to_run,
          .why = why,
          .was_killed = status == 128 + SIGKILL});
}

void SimulatedWorld::record(Supervisor& of, Time at, RunEnd end) {
  end.at = wall(at);
  end.steady = at;
  end.boot = clock_.boot();
  const UserDirectory own = job_directory(of.directory);
  end.word = word_of_job(own, of.plan.uid);
  end.asked_requeue = requeue_of_job(own, of.plan.uid).has_value();
  of.end.kind = end.kind == RunEnd::Kind::refused ? Kind::refused : Kind::exited;
  of.end.id = of.id;
  of.end.at = at;
  of.end.exit_status = end.status;
  of.end.asked_requeue = end.asked_requeue;
  of.end.word = end.word;
  if (!record_end(of.directory, of.files.end, end)) of.end.kind = Kind::lost;
  die(of, at);
}

void SimulatedWorld::die(Supervisor& of, Time at) {
  of.lives = false;
  of.due = Time::never();
  of.state = Supervisor::State::over;
  of.files = BegunRun();
  if (of.end.at == Time{}) of.end.at = at;
  ended_.push_back(of.number);
}

}  // namespace trainyard
