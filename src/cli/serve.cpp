// trainyard serve: the scheduler, on this machine or on a Slurm cluster.
#include <malloc.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/visible_text.h"
#include "cli/commands.h"
#include "cli/config_file.h"
#include "live/client/client.h"
#include "live/daemon/daemon.h"
#include "live/engine/local/on_this_machine.h"
#include "live/engine/slurm/on_slurm.h"
#include "live/server/http_server.h"
#include "live/system/log.h"
#include "live/system/systemd.h"

namespace trainyard::cli {
namespace {

constexpr std::int32_t kLeastMemoryMib = 64;
/// People wait for live jobs, and what a pause costs is known soon.
constexpr std::string_view kLeftAlone = "yard.min_run=", kSoLong = "10s";
/// The system's daemon, root's, begins with it where it is.
constexpr const char* kSystemConfig = "/etc/trainyard/config.toml";

struct ServeOptions {
  std::string config;
  std::string state, runs, checkpoints;
  std::string policy = "trainyard";
  std::vector<std::string> settings;
  std::string engine = "local", partition;
  bool dry_run = false;
  std::uint64_t slots = 0;
  std::string load_time = "15s";
  std::string keep = "30d", keep_checkpoints = "never";
  std::string memory = "1GiB", disk = "50%";
  std::string log, log_level = "info";
  bool is_private = false;
  ServerOptions server;
};

/// The state of the daemon that commands find in a terminal where TRAINYARD_STATE is not set;
/// empty: they find none.
std::string found_in_a_fresh_terminal() {
  for (const std::string& state : usual_directories())
    if (Client::open({.state = state, .server = {}})) return state;
  return {};
}

/// What a person at another terminal needs to know.
std::string greeting(Daemon& daemon, const HttpServer& server, const ServeOptions& options) {
  const std::string& state = daemon.state().path();
  std::string text = fmt::format(
      "trainyard: {}; policy {}\n"
      "trainyard: listening on {}\n",
      visible(daemon.about_engine()), visible(daemon.service().policy({})->policy),
      visible(daemon.state().socket()));
  if (server.tcp_port() > 0)
    text += fmt::format("trainyard: and on TCP port {}, with tokens (trainyard token add)\n",
                        server.tcp_port());
  const std::string program = program_to_type();
  text += "\nIn another terminal:\n";
  if (found_in_a_fresh_terminal() != state)
    text += fmt::format("  export TRAINYARD_STATE={}\n", shell_quoted(state));
  if (options.engine == "slurm") {
    if (options.dry_run) text += "  (nothing is changed in Slurm; the log has what would be)\n";
    return text +
           fmt::format(
               "  sbatch --partition={0} --gpus-per-node=1 --comment='trainyard: class=trial' "
               "job.sh\n"
               "  {1} queue\n",
               options.partition, program);
  }
  text += fmt::format(
      "  {0} demo     # half a minute: trial jobs overtake batch jobs, which come back\n"
      "  {0} submit -- sh -c 'echo on GPU $CUDA_VISIBLE_DEVICES; sleep 60'\n"
      "  {0} queue\n",
      program);
  return text;
}

/// Until SIGINT or SIGTERM. Must be blocked in all threads, so before the first is made.
void wait_for_end(const sigset_t& ends) {
  int which = 0;
  ::sigwait(&ends, &which);
}

/// A descriptor for each connection and each run; the usual soft limit is lower than our own.
void raise_file_limit() {
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) != 0) return;
  files.rlim_cur = files.rlim_max;
  (void)::setrlimit(RLIMIT_NOFILE, &files);
}

/// What was needed once and is not now goes back to the system: without this every thread of the
/// server would keep what its largest request took.
void keep_memory_small() {
  ::mallopt(M_ARENA_MAX, 4);
  ::mallopt(M_MMAP_THRESHOLD, 128 << 10);  // as it is; but set, it does not grow with use
  ::mallopt(M_TRIM_THRESHOLD, 1 << 20);
}

/// Has the file's values where the command line says nothing.
Expected<void> take_config(ServeOptions& options, Command& command) {
  if (options.config.empty() && ::geteuid() == 0 && std::filesystem::exists(kSystemConfig))
    options.config = kSystemConfig;
  if (options.config.empty()) return {};
  std::ifstream file(options.config);
  if (!file || std::filesystem::is_directory(options.config))
    return fail("--config {}: cannot be read: {}", options.config,
                std::strerror(file ? EISDIR : errno));
  std::ostringstream text;
  text << file.rdbuf();
  return read_config(text.str(), options.config, command, "--config");
}

/// Which engine carries orders out is chosen here.
EngineFactory engine_for(const ServeOptions& options) {
  if (options.engine == "slurm")
    return [partition = options.partition, dry_run = options.dry_run](System& system,
                                                                      const StateDirectory& state) {
      return open_engine_on_slurm(
          system, {.state = state.path(), .partition = partition, .dry_run = dry_run});
    };
  return [slots = static_cast<std::int32_t>(options.slots), is_private = options.is_private](
             System& system, const StateDirectory& state) {
    return open_engine_on(system,
                          {.state = state.path(), .slots = slots, .is_private = is_private});
  };
}

/// Options of one engine mean nothing to the other.
Expected<void> check_engine(const ServeOptions& options) {
  const bool is_slurm = options.engine == "slurm";
  if (is_slurm && options.slots > 0)
    return fail("--slots: the machines of --engine slurm are Slurm's nodes");
  if (!is_slurm && !options.partition.empty())
    return fail("--partition {}: only --engine slurm has partitions", quoted(options.partition));
  if (!is_slurm && options.dry_run)
    return fail(
        "--dry-run: only with --engine slurm; `trainyard whatif` tries policies on this one");
  return {};
}

/// None: for ever.
Expected<std::optional<Duration>> parse_keep(const std::string& text) {
  if (text == "never") return std::optional<Duration>();
  const auto keep = parse_duration(text);
  if (!keep) return fail("{}; or `never`, to erase none", keep.error().message);
  return std::optional(*keep);
}

/// Schedules until a signal of `ends` comes.
Expected<void> run(ServeOptions options, const sigset_t& ends, Log& log) {
  const auto state = options.state.empty() ? default_state_directory() : options.state;
  if (!state) return tl::make_unexpected(state.error());
  const auto keep = parse_duration(options.keep);
  if (!keep) return fail_at("--keep", keep.error());
  const auto load_time = parse_duration(options.load_time);
  if (!load_time) return fail_at("--load-time", load_time.error());
  const auto keep_checkpoints = parse_keep(options.keep_checkpoints);
  if (!keep_checkpoints) return fail_at("--keep-checkpoints", keep_checkpoints.error());
  const auto memory = parse_memory(options.memory);
  if (!memory) return fail_at("--memory", memory.error());
  if (*memory < kLeastMemoryMib)
    return fail("--memory {}: {} MiB are the least", options.memory, kLeastMemoryMib);
  const auto disk = parse_disk_limit(options.disk);
  if (!disk) return fail_at("--disk", disk.error());
  const std::size_t bytes = static_cast<std::size_t>(*memory) << 20U;
  std::vector<std::string> settings = options.settings;
  if (std::ranges::none_of(settings, [](const auto& set) { return set.starts_with(kLeftAlone); }))
    settings.insert(settings.begin(), fmt::format("{}{}", kLeftAlone, kSoLong));
  if (auto ok = PolicySpec::parse(options.policy, settings); !ok)
    return tl::make_unexpected(ok.error());

  RealSystem system(log);
  DaemonOptions daemon_options;
  daemon_options.state = *state;
  daemon_options.runs = options.runs, daemon_options.checkpoints = options.checkpoints;
  daemon_options.scheduling.policy = {options.policy, settings};
  daemon_options.scheduling.keep_output = *keep;
  daemon_options.scheduling.keep_checkpoints = *keep_checkpoints;
  daemon_options.scheduling.load_time = *load_time;
  daemon_options.scheduling.private_jobs = options.is_private;
  daemon_options.scheduling.explains_starts = options.dry_run;
  daemon_options.scheduling.memory = bytes / 2;
  daemon_options.disk = *disk;
  options.server.requests.memory = bytes / 4;
  auto daemon = Daemon::start(system, std::move(daemon_options), engine_for(options));
  if (!daemon) return tl::make_unexpected(daemon.error());
  options.server.state_directory = (*daemon)->state().path();
  options.server.system = &system;
  auto server = HttpServer::start((*daemon)->service(), options.server);
  if (!server) return tl::make_unexpected(server.error());
  log.write(LogLevel::info, fmt::format("listening on {}", (*daemon)->state().socket()));
  if (!is_journal(STDOUT_FILENO))
    if (auto ok = print(greeting(**daemon, **server, options)); !ok) return ok;
  notify_ready();
  wait_for_end(ends);
  log.write(LogLevel::info, "ending; jobs run on, and the next start finds them again");
  return {};
}

Expected<void> serve(ServeOptions& options, Command& command) {
  raise_file_limit();
  keep_memory_small();
  sigset_t ends;
  ::sigemptyset(&ends);
  ::sigaddset(&ends, SIGINT), ::sigaddset(&ends, SIGTERM);
  ::pthread_sigmask(SIG_BLOCK, &ends, nullptr);
  std::signal(SIGPIPE, SIG_IGN);

  if (auto ok = take_config(options, command); !ok) return ok;
  if (auto ok = check_engine(options); !ok) return ok;
  const auto level = parse_log_level(options.log_level);
  if (!level) return fail_at("--log-level", level.error());
  auto log = open_log({options.log, *level});
  if (!log) return tl::make_unexpected(log.error());
  Expected<void> done = run(options, ends, **log);
  // Otherwise main says it there.
  if (!done && !options.log.empty()) (*log)->write(LogLevel::error, done.error().message);
  return done;
}

void add_place_options(Command& command, ServeOptions& options) {
  command.option("--config", &options.config,
                 "options from this file, a TOML key for each; the command line goes before "
                 "[/etc/trainyard/config.toml for root, where it is there]",
                 {.type = "FILE"});
  command.option("--state", &options.state,
                 "where everything is kept [$TRAINYARD_STATE, /var/lib/trainyard for root, else "
                 "~/.local/state/trainyard]",
                 {.type = "DIR"});
  command.option("--runs", &options.runs,
                 "keep the output of jobs in this folder, on another file system than the state "
                 "directory; it stays there when the option is left out later",
                 {.type = "DIR"});
  command.option("--checkpoints", &options.checkpoints, "the same for their checkpoints",
                 {.type = "DIR"});
}

void add_scheduling_options(Command& command, ServeOptions& options) {
  command.option("--policy", &options.policy,
                 "a preset or a line (see trainyard policies); one that was set with `trainyard "
                 "policy` goes before",
                 {.type = "POLICY", .initial = options.policy});
  command.option(
      "--set", &options.settings,
      "a parameter, stage.param=value; repeatable. It holds for every policy that has it, "
      "also for one that is set later. yard.min_run is 10s here unless it is set");
  command.option("--load-time", &options.load_time,
                 "how long a run counts as loading, and is not paused, where its job reports no "
                 "progress and nothing is known of jobs like it",
                 {.type = "DURATION", .initial = options.load_time});
  command.option("--engine", &options.engine,
                 "what runs the jobs: this machine, or a Slurm cluster (see trainyard slurm)",
                 {.initial = options.engine, .words = {"local", "slurm"}});
  command.option("--partition", &options.partition,
                 "the partition of Slurm's whose jobs it schedules", {.type = "NAME"});
  command.flag("--dry-run", &options.dry_run,
               "watch Slurm, log every decision, and change nothing there");
  command.option("--slots", &options.slots,
                 "schedule on this many stand-ins for GPUs, whatever the machine has",
                 {.range = Range{1, kMaxGpusPerMachine}});
}

/// How long ended jobs are kept, and how much memory and disk users may take.
void add_bound_options(Command& command, ServeOptions& options) {
  command.option("--keep", &options.keep,
                 "how long output and events of ended jobs are kept, in time that the daemon runs",
                 {.type = "DURATION", .initial = options.keep});
  command.option("--keep-checkpoints", &options.keep_checkpoints,
                 "how long checkpoints of ended jobs are kept, in time that the daemon runs; "
                 "or `never`, to erase none",
                 {.type = "DURATION|never", .initial = options.keep_checkpoints});
  command.option("--memory", &options.memory,
                 "how much of the daemon's memory users may take: their jobs half, of which one "
                 "user has half, and their requests a quarter",
                 {.type = "SIZE", .initial = options.memory});
  command.option("--disk", &options.disk,
                 "how much of the state directory's file system users may take (scripts, output, "
                 "history), of which one user has a quarter: a part of its size, or a size",
                 {.type = "SIZE|PERCENT", .initial = options.disk});
}

void add_access_options(Command& command, ServeOptions& options) {
  command.flag("--private", &options.is_private,
               "users see nothing of other users' jobs, as with Slurm's PrivateData=jobs");
  command.option("--tcp", &options.server.tcp,
                 "also listen on this address:port; needs tokens, and TLS beyond loopback");
  command.option("--cert", &options.server.certificate, "TLS certificate, in PEM");
  command.option("--key", &options.server.key, "its private key, in PEM");
}

void add_log_options(Command& command, ServeOptions& options) {
  command.option("--log", &options.log,
                 "write the log to this file instead of standard error; it begins anew at 16 MiB",
                 {.type = "FILE"});
  command.option("--log-level", &options.log_level, "the least severe lines that are written",
                 {.initial = options.log_level, .words = {"debug", "info", "warning", "error"}});
}

}  // namespace

void add_serve_command(Command& program) {
  auto options = std::make_shared<ServeOptions>();
  Command& command = program.add(
      "serve",
      "Schedules jobs on this machine, or on a Slurm cluster, until it is interrupted. Jobs "
      "outlive it.",
      "trainyard serve\n"
      "trainyard serve --state /srv/trainyard --policy fitgpp+xion\n"
      "trainyard serve --slots 8                    # as if there were 8 GPUs\n"
      "trainyard serve --tcp 0.0.0.0:8642 --cert tls.crt --key tls.key\n"
      "trainyard serve --engine slurm --partition train\n"
      "trainyard serve --engine slurm --partition train --dry-run   # watches, changes nothing\n"
      "trainyard serve --config mine.toml           # policy = \"srtf\", and so on");
  add_place_options(command, *options);
  add_scheduling_options(command, *options);
  add_bound_options(command, *options);
  add_access_options(command, *options);
  add_log_options(command, *options);
  command.action = [options, &command] { return serve(*options, command); };
}

}  // namespace trainyard::cli
