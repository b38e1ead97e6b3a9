#include "live/engine/local/local_engine.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <utility>

#include "live/engine/local/linux_host.h"
#include "live/engine/local/shims.h"
#include "live/engine/local/supervisor_link.h"
#include "live/engine/local/traces.h"
#include "live/supervisor/log_segments.h"
#include "live/supervisor/process_limits.h"
#include "live/system/closed_directory.h"

namespace trainyard {
namespace {

constexpr Duration kLookAround = seconds(1);
constexpr Duration kKillAgain = microseconds(10'000);  // grows up to kLookAround

/// The same for a state directory in every life of the daemon.
std::string cgroup_parent(const std::string& top, const std::string& state) {
  std::uint64_t hash = 14'695'981'039'346'656'037U;  // FNV-1a
  for (const char c : state) hash = (hash ^ static_cast<unsigned char>(c)) * 1'099'511'628'211U;
  return fmt::format("{}/{:016x}", top, hash);
}

Expected<void> make_state(const std::string& state, const std::string& supervisor) {
  const auto make = [](const std::string& path, mode_t mode) -> Expected<void> {
    if (::mkdir(path.c_str(), mode) != 0) {
      if (errno == EEXIST) return {};
      return fail("{}: cannot be made: {}", path, std::strerror(errno));
    }
    ::chmod(path.c_str(), mode);
    return {};
  };
  std::error_code none;
  std::filesystem::create_directories(std::filesystem::path(state).parent_path(), none);
  for (const auto& [name, mode] : {std::pair{"", 0711}, std::pair{"/runs", 0711},
                                   std::pair{"/checkpoints", 0711}, std::pair{"/bin", 0755}})
    if (auto ok = make(state + name, static_cast<mode_t>(mode)); !ok) return ok;
  return write_shims(state, supervisor);
}

/// Of all runs together, for as long as their groups are there.
Expected<void> limit_processes(const LocalEngineOptions& options, LaunchSite& site) {
  const ProcessBounds bounds =
      options.process_bounds.value_or(read_process_bounds(site.cgroups.of_processes()));
  site.processes = processes_of_all_runs(bounds);
  if (site.cgroups.limits_processes() &&
      !limit_all_processes(site.cgroups, options.cgroup_top, site.processes))
    return fail("control group {}: the limit of {} processes for all jobs cannot be set: {}",
                options.cgroup_top, site.processes, std::strerror(errno));
  return {};
}

/// Null if the folder is on the state directory's file system.
std::unique_ptr<Trash> trash_elsewhere(System& system, const std::string& state,
                                       const std::string& folder) {
  struct stat here {};
  struct stat there {};
  const bool is_known =
      ::stat(state.c_str(), &here) == 0 && ::stat((state + folder).c_str(), &there) == 0;
  if (!is_known || here.st_dev == there.st_dev) return nullptr;
  return std::make_unique<Trash>(system, state + folder + "/trash");
}

void hide_from_others(System& system, const std::string& state, RunPlaces& places) {
  places.hide_old(system.log());
  for (const char* folder : {"/runs", "/checkpoints"})
    if (::geteuid() == 0 && !has_access_lists(state + folder))
      system.log().write(LogLevel::warning,
                         fmt::format("{}{}: its file system has no access lists, so users with the "
                                     "same primary group can see owner, times and sizes of each "
                                     "other's directories there",
                                     state, folder));
}

}  // namespace

Expected<std::unique_ptr<LocalEngine>> LocalEngine::open(System& system, LocalEngineOptions options,
                                                         Cluster machine) {
  std::error_code none;
  const std::string state = std::filesystem::absolute(options.state, none).lexically_normal();
  const std::string supervisor = std::filesystem::absolute(options.supervisor, none);
  if (auto ok = make_state(state, supervisor); !ok) return tl::make_unexpected(ok.error());
  if (!options.host) {
    auto host = LinuxHost::open(supervisor);
    if (!host) return tl::make_unexpected(host.error());
    options.host = std::move(*host);
  }
  auto places = RunPlaces::open(state);
  if (!places) return tl::make_unexpected(places.error());
  if (options.is_private) hide_from_others(system, state, **places);
  const std::string parent = cgroup_parent(options.cgroup_top, state);
  LaunchSite site{.state = state,
                  .host = machine.machines[0].name,
                  .cgroups = options.use_cgroups ? usable_cgroups(parent) : CgroupPlaces{},
                  .cgroup = parent,
                  .gpus = options.claims.ours(),
                  .hides_gpus = options.hides_gpus,
                  .capacity = machine.machines[0].capacity.gpus,
                  .devices = options.gpu_devices};
  if (auto ok = limit_processes(options, site); !ok) return tl::make_unexpected(ok.error());
  return std::unique_ptr<LocalEngine>(
      new LocalEngine(system, std::move(site), std::move(*places), std::move(machine), options));
}

namespace {

/// The name, below where the hierarchy is mounted, of the group in which `trainyard` is.
std::string unified_name(const CgroupPlaces& places) {
  const std::string top =
      mounted_cgroups(read_small_file("/proc/self/mountinfo").value_or("")).unified;
  if (places.unified.empty() || top.empty() || !places.unified.starts_with(top)) return {};
  return places.unified.substr(std::min(top.size() + 1, places.unified.size()));
}

}  // namespace

std::vector<std::string> LocalEngine::cgroups_of(RunId id, const std::string& /*machine*/,
                                                 const std::string& /*born_as*/) const {
  if (site_.cgroups.unified.empty()) return {};
  return {fmt::format("{}{}{}/{}.{}", unified_, unified_.empty() ? "" : "/", site_.cgroup, id.job,
                      id.run)};
}

LocalEngine::LocalEngine(System& system, LaunchSite site, std::unique_ptr<RunPlaces> places,
                         Cluster machine, LocalEngineOptions& options)
    : system_(system),
      site_(std::move(site)),
      unified_(unified_name(site_.cgroups)),
      places_(std::move(places)),
      cluster_(std::move(machine)),
      host_(std::move(options.host)),
      claims_(std::move(options.claims)),
      has_slots_(options.has_slots),
      stuck_after_(options.stuck_after),
      trash_(system, site_.state + "/trash"),
      runs_trash_(trash_elsewhere(system, site_.state, "/runs")),
      checkpoints_trash_(trash_elsewhere(system, site_.state, "/checkpoints")) {}

void LocalEngine::finish_erasing() {
  for (Trash* trash : {&trash_, runs_trash_.get(), checkpoints_trash_.get()})
    if (trash != nullptr) trash->wait_until_empty();
}

LocalEngine::~LocalEngine() {
  // Not while a supervisor might be about to make its own within it.
  if (runs_.empty()) RunCgroup(site_.cgroups, site_.cgroup).remove();
}

std::string LocalEngine::describe() const {
  const Machine& machine = cluster_.machines.front();
  const std::string& kind = cluster_.kinds[index(machine.kind)];
  const std::int32_t slots = machine.capacity.gpus;
  return fmt::format("{} on {}; {}",
                     kind != "cpu" ? fmt::format("{} GPUs ({})", slots, kind)
                                   : fmt::format("{} {} that stand in for GPUs", slots,
                                                 has_slots_ ? "slots" : "CPU cores"),
                     machine.name, describe_confinement(site_));
}

RunId LocalEngine::own_id(RunId id) const {
  const std::lock_guard lock(strays_mutex_);
  const auto stray = strays_.find(id.job);
  return stray == strays_.end() ? id : stray->second;
}

std::string LocalEngine::directory_of(RunId id) const {
  return places_->run(own_id(id));
}

// --- orders ---

Expected<void> LocalEngine::start(const Launch& launch) {
  if (auto ok = system_.before("engine.start"); !ok) return ok;
  const auto account = host_->account_of(launch.owner);
  if (!account) {
    report_refused(launch.id, account.error().message);
    return {};
  }
  if (!has_gpus(launch)) return fail("a GPU that job {} was to have is gone", launch.id.job);
  auto plan = plan_run(launch, *account, site_);
  if (!plan) return tl::make_unexpected(plan.error());
  auto claims = claims_of(launch);
  if (!claims) {
    looks_for_root_ = true;
    return tl::make_unexpected(claims.error());
  }
  auto port = host_->hold_port(launch.id.job);
  if (!port) return tl::make_unexpected(port.error());
  plan->master_port = port->number;
  claims->push_back(std::move(port->socket));
  auto folders = places_->folders_for(launch.id, plan->uid, plan->gid);
  if (!folders) return tl::make_unexpected(folders.error());
  plan->runs = std::move(folders->runs), plan->checkpoints = std::move(folders->checkpoints);
  if (auto ok = make_run_directory(*plan, launch.spec->script, trash_of_runs()); !ok) return ok;
  Run run = make_run(launch.id, plan->uid);
  watch(run);
  const auto supervisor = host_->spawn(run.directory, std::move(*claims));
  if (!supervisor) {
    unwatch(run);
    trash_of_runs().put(run.directory);
    return tl::make_unexpected(supervisor.error());
  }
  supervise(std::move(run), *supervisor);
  system_.after("engine.start");
  return {};
}

/// False for one that was placed on a GPU that is gone, where a run of another job had not ended.
bool LocalEngine::has_gpus(const Launch& launch) const {
  const std::int32_t count = cluster_.machines.front().capacity.gpus;
  return std::ranges::all_of(launch.workers, [&](const WorkerPlace& worker) {
    return std::ranges::all_of(worker.gpus, [&](std::int32_t gpu) { return gpu < count; });
  });
}

Expected<std::vector<Descriptor>> LocalEngine::claims_of(const Launch& launch) const {
  if (claims_.ours().empty()) return {};
  std::vector<std::int32_t> gpus;
  for (const WorkerPlace& worker : launch.workers)
    gpus.insert(gpus.end(), worker.gpus.begin(), worker.gpus.end());
  return claims_.for_run(gpus);
}

Expected<void> LocalEngine::stop(const Stop& stop) {
  if (auto ok = system_.before("engine.stop"); !ok) return ok;
  const auto run = runs_.find(stop.id);
  if (run == runs_.end() || !run->second.supervisor) return {};
  const StopOrder order{.signal = stop.signal.number,
                        .leader_only = stop.signal.leader_only,
                        .grace = stop.grace,
                        .kill_wait = stop.kill_wait};
  // If the disk is full the supervisor does what the job declared.
  std::ignore = replace_file(run->second.directory + "/stop", to_json(order), 0600);
  // Its user may have halted it where that is the daemon's user too.
  for (const int number : {SIGUSR1, SIGCONT}) host_->signal(*run->second.supervisor, number);
  run->second.watchdog.expect_end(system_.steady_clock() + stop.grace + stop.kill_wait);
  system_.after("engine.stop");
  return {};
}

Expected<void> LocalEngine::adopt(RunId id) {
  if (auto ok = system_.before("engine.adopt"); !ok) return ok;
  const std::string directory = directory_of(id);
  // One that was never begun gets its directory now, so that it never can be.
  ::mkdir(directory.c_str(), 0711);
  const Descriptor fence(
      ::open((directory + "/started").c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (fence) {
    never_begun_.insert(id);
    report_lost(id, "it had not been started when the daemon ended");
  } else if (errno == EEXIST) {
    if (auto ok = adopt_begun(id); !ok) return ok;
  } else {
    return fail("{}/started: cannot be made: {}", directory, std::strerror(errno));
  }
  system_.after("engine.adopt");
  return {};
}

std::map<JobNumber, Engine::Trace> LocalEngine::traces() const {
  return find_traces(*host_, *places_, site_.gpus);
}

/// Once all that the journal knows have been adopted: what lives besides is nobody's, and has GPUs.
/// A supervisor that comes too late for its run lives for a moment, too, and has none.
void LocalEngine::report_strays() {
  has_looked_for_strays_ = true;
  const auto never_begun = std::exchange(never_begun_, {});
  for (const RunId id : living_runs(*host_, *places_)) {
    const bool is_known =
        never_begun.contains(id) ||
        std::ranges::any_of(runs_, [&](const auto& run) { return own_id(run.first) == id; });
    const auto plan = is_known ? std::nullopt : read_plan(places_->run(id));
    if (!plan) continue;
    system_.log().write(LogLevel::error,
                        fmt::format("run {} of job {} lives, and the journal does not know it: it "
                                    "keeps its GPUs, as a job of its own",
                                    id.run, id.job));
    reports_.emplace_back(birth_of(*plan, site_.gpus));
  }
}

void LocalEngine::call(const std::string& born_as, JobNumber job) {
  const auto stray = stray_run(born_as);
  if (!stray) return;
  {
    const std::lock_guard lock(strays_mutex_);
    strays_[job] = *stray;
  }
  if (has_looked_for_strays_ && !runs_.contains({job, 1})) std::ignore = adopt_begun({job, 1});
}

Expected<void> LocalEngine::adopt_begun(RunId id) {
  const auto plan = read_plan(directory_of(id));
  if (plan && was_copied(*plan, directory_of(id))) {
    report_lost(id, fmt::format("it was started in {}, and this state directory is a copy: what "
                                "may still run of it is left alone",
                                plan->state));
    return {};
  }
  Run run = make_run(id, plan ? plan->uid : ::geteuid());
  if (plan) run.cgroups = plan->cgroups, run.cgroup = plan->cgroup;
  watch(run);
  const auto supervisor = host_->find(run.directory);
  if (!supervisor) return tl::make_unexpected(supervisor.error());
  supervise(std::move(run), *supervisor);
  Run& adopted = runs_.at(id);
  if (*supervisor)
    check_started(adopted);
  else
    on_supervisor_end(adopted);
  return {};
}

/// The original's supervisor holds the lock of the original: nobody that belongs to this state
/// directory runs it, and the control group of the plan is not ours to kill. One that was moved
/// while its supervisor lived is ours as before.
bool LocalEngine::was_copied(const RunPlan& plan, const std::string& directory) const {
  if (plan.state == site_.state || read_end(directory)) return false;
  return !host_->lives(directory).value_or(true);
}

void LocalEngine::forget(RunId id) {
  if (!system_.before("engine.forget")) return;
  const std::string directory = directory_of(id);
  // run.json goes first: a supervisor so late that it finds no `started` finds nothing to start.
  for (const char* name :
       {"/run.json", "/started", "/lock", "/stop", "/script", "/exit.json", "/exit.part"})
    ::unlink((directory + name).c_str());
  trash_of_runs().put(job_directory(directory));
  system_.after("engine.forget");
}

Expected<void> LocalEngine::erase_output(JobNumber job, std::uint32_t runs) {
  if (auto ok = system_.before("engine.erase_output"); !ok) return ok;
  for (std::uint32_t run = 1; run <= runs; ++run) trash_of_runs().put(directory_of({job, run}));
  // Most jobs save nothing.
  places_->checkpoints(job).remove_if_empty();
  system_.after("engine.erase_output");
  return {};
}

Expected<void> LocalEngine::erase_checkpoints(JobNumber job) {
  if (auto ok = system_.before("engine.erase_checkpoints"); !ok) return ok;
  (checkpoints_trash_ ? *checkpoints_trash_ : trash_).put(places_->checkpoints(job));
  system_.after("engine.erase_checkpoints");
  return {};
}

Expected<Engine::Output> LocalEngine::output(RunId id, std::int32_t worker, std::uint64_t offset,
                                             std::size_t limit) const {
  auto log = read_log(directory_of(id), worker, offset, limit);
  if (!log) return tl::make_unexpected(log.error());
  return Output{.offset = log->offset, .text = std::move(log->text)};
}

// --- what happens ---

std::vector<EngineReport> LocalEngine::poll() {
  const HostEvents events = host_->take_events();
  if (!has_looked_for_strays_) report_strays();
  for (const WatchId watch : events.written)
    if (const auto id = by_watch_.find(watch); id != by_watch_.end())
      check_started(runs_.at(id->second));
  for (const SupervisorId supervisor : events.ended)
    if (const auto id = by_supervisor_.find(supervisor); id != by_supervisor_.end())
      on_supervisor_end(runs_.at(id->second));
  if (events.timer) tick();
  give_way_to_root();
  return std::exchange(reports_, {});
}

/// Here alone, as numbers of GPUs mean those of the cluster that was last reported.
void LocalEngine::give_way_to_root() {
  if (!std::exchange(looks_for_root_, false)) return;
  const auto given = claims_.give_way_to_root();
  if (given.empty()) return;
  for (const std::string& gpu : given)
    system_.log().write(LogLevel::warning, gpu + ": it is given up, and runs on it have to end");
  site_.gpus = claims_.ours();
  std::vector<std::string> names;
  for (const Gpu& gpu : site_.gpus) names.push_back(name(gpu));
  cluster_.set_gpus(MachineId{0}, std::move(names));
  reports_.emplace_back(ClusterReport{});
}

void LocalEngine::tick() {
  looks_for_root_ = true;
  std::vector<RunId> cleared, given_up;
  for (auto& [id, run] : runs_) {
    if (!run.supervisor && clear_rest(run)) cleared.push_back(id);
    if (!run.supervisor) continue;
    if (!run.started) check_started(run);
    if (run.started) check_progress(run);
    if (check_supervisor(run)) given_up.push_back(id);
  }
  for (const RunId id : cleared) {
    report_lost(id, runs_.at(id).lost_because);
    drop(id);
  }
  for (const RunId id : given_up) on_supervisor_end(runs_.at(id));
  set_timer();
}

void LocalEngine::set_timer() {
  const bool clearing = std::any_of(runs_.begin(), runs_.end(),
                                    [](const auto& run) { return !run.second.supervisor; });
  kill_again_ =
      clearing ? std::min(std::max(kKillAgain, kill_again_ * 2), kLookAround) : Duration{};
  const Duration next = runs_.empty() ? Duration{} : clearing ? kill_again_ : kLookAround;
  host_->set_timer(next);
}

void LocalEngine::check_started(Run& run) {
  if (run.started) return;
  const auto at = time_of_start(run.directory);
  if (!at) return;
  run.started = true;
  unwatch(run);
  say({.kind = RunReport::Kind::started,
       .id = run.id,
       .at = *at,
       .why = {},
       .progress = {},
       .places = {}});
}

void LocalEngine::check_progress(Run& run) {
  if (const auto progress = run.report.read())
    say({.kind = RunReport::Kind::progress,
         .id = run.id,
         .at = system_.wall_clock(),
         .why = {},
         .progress = *progress,
         .places = {}});
}

bool LocalEngine::check_supervisor(Run& run) {
  const bool has_processes = host_->has_processes(*run.supervisor);
  if (auto why = run.watchdog.look(system_.steady_clock(), has_processes)) {
    system_.log().write(LogLevel::error,
                        fmt::format("run {} of job {}: {}", run.id.run, run.id.job, *why));
    run.lost_because = std::move(*why);
    host_->signal(*run.supervisor, SIGKILL);
  }
  return run.watchdog.is_beyond_reach();
}

/// Also called for one that had ended before it was adopted.
void LocalEngine::on_supervisor_end(Run& run) {
  if (run.supervisor) {
    by_supervisor_.erase(*run.supervisor);
    host_->release(*run.supervisor);
    run.supervisor.reset();
  }
  check_started(run);
  check_progress(run);
  if (const auto end = read_end(run.directory)) {
    report_end(run, *end);
    drop(run.id);
  } else if (clear_rest(run)) {
    report_lost(run.id, run.lost_because);
    drop(run.id);
  } else {
    set_timer();
  }
}

bool LocalEngine::clear_rest(const Run& run) {
  return host_->clear({run.directory, own_id(run.id), run.user, run.cgroups, run.cgroup});
}

void LocalEngine::report_end(const Run& run, const RunEnd& end) {
  using Kind = RunReport::Kind;
  Kind kind = Kind::exited;
  if (end.kind == RunEnd::Kind::refused) kind = Kind::refused;
  if (end.kind == RunEnd::Kind::lost) kind = Kind::lost;
  say({.kind = kind,
       .id = run.id,
       .at = end.at,
       .steady = end.boot == system_.boot() ? std::optional(end.steady) : std::nullopt,
       .ran = end.ran.us > 0 ? std::optional(end.ran) : std::nullopt,
       .exit_status = end.status,
       .asked_requeue = end.asked_requeue,
       .why = end.why,
       .progress = {},
       .places = {},
       .was_killed = end.was_killed,
       .word = end.word});
}

void LocalEngine::report_lost(RunId id, std::string why) {
  say({.kind = RunReport::Kind::lost,
       .id = id,
       .at = system_.wall_clock(),
       .why = std::move(why),
       .progress = {},
       .places = {}});
}

void LocalEngine::report_refused(RunId id, std::string why) {
  say({.kind = RunReport::Kind::refused,
       .id = id,
       .at = system_.wall_clock(),
       .exit_status = 127,
       .why = std::move(why),
       .progress = {},
       .places = {}});
}

void LocalEngine::say(RunReport report) {
  if (is_end(report.kind)) report.output_bytes = kept_output(directory_of(report.id));
  reports_.emplace_back(std::move(report));
  // Also what is found while an order is carried out must be heard of.
  host_->wake();
}

// --- keeping the list ---

LocalEngine::Run LocalEngine::make_run(RunId id, uid_t owner) const {
  const std::string directory = directory_of(id);
  return {.id = id,
          .directory = directory,
          .watchdog = Watchdog(stuck_after_),
          .report = ReportFile(job_directory(directory), owner),
          .user = owner,
          .cgroup = fmt::format("{}/{}.{}", site_.cgroup, id.job, id.run),
          .cgroups = site_.cgroups};
}

void LocalEngine::watch(Run& run) {
  run.watch = host_->watch(run.directory);
  if (run.watch) by_watch_[*run.watch] = run.id;
}

void LocalEngine::unwatch(Run& run) {
  if (!run.watch) return;
  host_->unwatch(*run.watch);
  by_watch_.erase(*run.watch);
  run.watch.reset();
}

void LocalEngine::supervise(Run run, std::optional<SupervisorId> supervisor) {
  const RunId id = run.id;
  if (supervisor) by_supervisor_[*supervisor] = id;
  run.supervisor = supervisor;
  runs_.insert_or_assign(id, std::move(run));
  set_timer();
}

void LocalEngine::drop(RunId id) {
  const auto run = runs_.find(id);
  unwatch(run->second);
  runs_.erase(run);
  set_timer();
}

}  // namespace trainyard
