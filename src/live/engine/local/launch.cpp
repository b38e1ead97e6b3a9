#include "live/engine/local/launch.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>

#include "live/supervisor/login_limits.h"
#include "live/supervisor/process_limits.h"
#include "live/system/files.h"

namespace trainyard {
namespace {

/// `mode` holds whatever the umask is.
Expected<void> make_directory(const std::string& path, mode_t mode) {
  if (::mkdir(path.c_str(), mode) == 0 && ::chmod(path.c_str(), mode) == 0) return {};
  return fail("{}: cannot be made: {}", path, std::strerror(errno));
}

Expected<void> fill_run_directory(const std::string& directory, const RunPlan& plan,
                                  const std::string& script) {
  for (const UserDirectory& own : {job_directory(directory), checkpoint_directory(plan)})
    if (auto ok = own.make(plan.uid, plan.gid); !ok) return ok;
  if (plan.has_script) {
    const std::string path = directory + "/script";
    if (auto ok = create_file(path, script, 0500); !ok) return ok;
    if (::geteuid() == 0 && ::chown(path.c_str(), plan.uid, plan.gid) != 0)
      return fail("{}: cannot be given to user {}: {}", path, plan.user, std::strerror(errno));
  }
  return create_file(directory + "/run.json", to_json(plan), 0600);
}

/// How a supervisor is to begin.
struct SpawnSettings {
  posix_spawn_file_actions_t files{};
  posix_spawnattr_t attributes{};

  /// `claims` must have numbers above those that they get.
  explicit SpawnSettings(const std::vector<Descriptor>& claims) {
    ::posix_spawn_file_actions_init(&files);
    ::posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
    ::posix_spawn_file_actions_addopen(&files, 1, "/dev/null", O_WRONLY, 0);
    ::posix_spawn_file_actions_addopen(&files, 2, "/dev/null", O_WRONLY, 0);
    int next = 3;
    for (const Descriptor& claim : claims)
      ::posix_spawn_file_actions_adddup2(&files, claim.get(), next++);
    ::posix_spawn_file_actions_addclosefrom_np(&files, next);
    ::posix_spawn_file_actions_addchdir_np(&files, "/");
    ::posix_spawnattr_init(&attributes);
    ::posix_spawnattr_setflags(&attributes,
                               POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    // An order to stop that comes before it listens must wait, not end it.
    sigset_t blocked, all;
    ::sigemptyset(&blocked);
    ::sigaddset(&blocked, SIGUSR1);
    ::sigfillset(&all);
    ::posix_spawnattr_setsigmask(&attributes, &blocked);
    ::posix_spawnattr_setsigdefault(&attributes, &all);
  }
  ~SpawnSettings() {
    ::posix_spawn_file_actions_destroy(&files);
    ::posix_spawnattr_destroy(&attributes);
  }
  SpawnSettings(const SpawnSettings&) = delete;
  SpawnSettings& operator=(const SpawnSettings&) = delete;
};

/// What the run may take of the machine, and which GPUs it may open.
void confine(const Launch& launch, const LaunchSite& site, RunPlan& plan) {
  const std::vector<std::uint32_t> minors = device_minors(site.gpus);
  std::int64_t gpus = 0;
  std::vector<std::uint32_t> own;
  for (const WorkerPlace& worker : launch.workers) {
    gpus += static_cast<std::int64_t>(worker.gpus.size());
    if (minors.empty()) continue;
    for (const std::int32_t gpu : worker.gpus)
      own.push_back(minors.at(static_cast<std::size_t>(gpu)));
  }
  if (site.processes > 0 && site.cgroups.limits_processes())
    plan.processes = processes_of_run(site.processes, gpus, site.capacity);
  else if (site.processes > 0)
    plan.user_processes = processes_of_user(site.processes);
  if (site.confines_devices()) plan.denied_devices = devices_of_other_gpus(site.devices, own);
}

}  // namespace

std::string describe_confinement(const LaunchSite& site) {
  const bool limits = site.cgroups.limits_cpu() || site.cgroups.limits_memory();
  std::string text = limits ? "control groups hold the limits of CPU and memory"
                            : "no control groups here: limits of CPU and memory do not hold";
  if (site.processes > 0 && site.cgroups.limits_processes())
    text += fmt::format("; all jobs together may have {} processes", site.processes);
  else if (site.processes > 0)
    text += fmt::format(
        "; no pids controller: jobs may have {} processes for each user, and those "
        "of root any number",
        processes_of_user(site.processes));
  if (site.devices.major != 0)
    text += site.confines_devices() ? "; jobs cannot open GPUs of others"
                                    : "; jobs are not kept from opening GPUs of others";
  if (::geteuid() == 0)
    text += asks_pam() ? "; jobs have the limits of their users' logins"
                       : "; no /etc/pam.d/trainyard: jobs have the daemon's own limits";
  return text;
}

Expected<RunPlan> plan_run(const Launch& launch, const Account& account, const LaunchSite& site) {
  if (::geteuid() != 0 && account.uid != ::geteuid())
    return fail("user {} ({}): the daemon runs as user {} and can run that user's jobs only",
                account.user, account.uid, ::geteuid());
  if (launch.workers.empty()) return fail("job {}: a run without workers", launch.id.job);
  const JobSpec& spec = *launch.spec;
  RunPlan plan;
  plan.job = launch.id.job;
  plan.run = launch.id.run;
  plan.name = spec.name;
  plan.state = site.state;
  plan.host = site.host;
  plan.uid = account.uid;
  plan.gid = account.gid;
  plan.groups = account.groups;
  plan.user = account.user;
  plan.home = account.home;
  plan.shell = account.shell;
  plan.command = spec.command;
  plan.has_script = !spec.script.empty();
  plan.runs_once = spec.runs_once;
  plan.gpus_per_task = spec.gpus_per_task;
  plan.directory = spec.directory;
  plan.output = spec.output;
  plan.error = spec.error;
  plan.append = spec.append || launch.id.run > 1;  // an earlier run may have written, heard or not
  plan.environment = spec.environment;
  plan.per_worker = launch.per_worker;
  for (const WorkerPlace& worker : launch.workers) {
    auto& numbers = plan.gpus.emplace_back();
    auto& names = plan.gpu_names.emplace_back();
    for (const std::int32_t gpu : worker.gpus) {
      const Gpu* real = site.gpus.empty() ? nullptr : &site.gpus.at(static_cast<std::size_t>(gpu));
      numbers.push_back(real != nullptr ? real->number : gpu);
      names.push_back(real != nullptr ? name(*real) : std::to_string(gpu));
    }
  }
  plan.hides_gpus = site.hides_gpus;
  plan.restarts = launch.restarts;
  plan.task = launch.task;
  plan.stop = {.signal = spec.signal.number,
               .leader_only = spec.signal.leader_only,
               .grace = spec.grace,
               .kill_wait = Stop{}.kill_wait};
  plan.ask_after = asked_after(spec);
  plan.output_limit = launch.output_limit;
  confine(launch, site, plan);
  plan.cgroups = site.cgroups;
  plan.cgroup = fmt::format("{}/{}.{}", site.cgroup, plan.job, plan.run);
  return plan;
}

Expected<void> make_run_directory(const RunPlan& plan, const std::string& script, Trash& trash) {
  const std::string directory = run_directory(plan);
  struct stat about {};
  if (::lstat(directory.c_str(), &about) == 0)
    return fail("run {} of job {} was begun before: {} exists", plan.run, plan.job, directory);
  if (auto ok = make_directory(directory, 0711); !ok) return ok;
  auto ok = fill_run_directory(directory, plan, script);
  // Its user may have been in job/ already.
  if (!ok) trash.put(directory);
  return ok;
}

Expected<Descriptor> spawn_supervisor(const std::string& program, const std::string& directory,
                                      std::vector<Descriptor> claims) {
  for (Descriptor& claim : claims)
    claim = Descriptor(::fcntl(claim.get(), F_DUPFD_CLOEXEC, 3 + static_cast<int>(claims.size())));
  const SpawnSettings settings(claims);
  std::string name = program, where = directory;
  std::array<char*, 3> arguments{name.data(), where.data(), nullptr};
  std::array<char*, 1> environment{nullptr};
  pid_t pid = 0;
  if (const int failed = ::posix_spawn(&pid, program.c_str(), &settings.files, &settings.attributes,
                                       arguments.data(), environment.data()))
    return fail("{}: cannot be started: {}", program, std::strerror(failed));
  // A child's number cannot be another's before we have seen it end.
  Descriptor process(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  if (process) return process;
  const int why = errno;
  ::kill(pid, SIGKILL);
  ::waitpid(pid, nullptr, 0);
  return fail("{}: cannot be watched: {}", program, std::strerror(why));
}

std::string default_supervisor() {
  std::error_code none;
  const auto folder = std::filesystem::read_symlink("/proc/self/exe", none).parent_path();
  const auto beside = folder / "trainyard-supervisor";
  if (std::filesystem::exists(beside, none)) return beside.string();
  const auto installed = folder.parent_path() / "libexec/trainyard/trainyard-supervisor";
  return (std::filesystem::exists(installed, none) ? installed : beside).string();
}

}  // namespace trainyard
