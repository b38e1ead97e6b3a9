// trainyard flow-agent: has the network of this machine send the bytes of jobs by their flow class.
#include <fcntl.h>
#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "cli/client.h"
#include "cli/config_file.h"
#include "live/flow_agent/agent_metrics.h"
#include "live/flow_agent/daemon_feed.h"
#include "live/flow_agent/dscp_probe.h"
#include "live/flow_agent/linux_flow_kernel.h"
#include "live/system/files.h"
#include "live/system/private_file.h"
#include "live/system/system.h"
#include "live/system/systemd.h"

namespace trainyard::cli {
namespace {

constexpr const char* kSystemConfig = "/etc/trainyard/config.toml";
/// Until the daemon has said another.
constexpr double kFirstFloor = 0.2;
constexpr Duration kBetweenMetrics = seconds(10);
constexpr int kLooksForTable = 20;
constexpr std::chrono::milliseconds kBetweenLooks{100};

struct FlowAgentOptions {
  ClientOptions client;
  std::string config, interface, token_file, machine, queue, metrics, peer;
  std::uint64_t echo = 0;  // a port; 0: it does not
  std::string code_points = "43,35,19,0";
  std::string log_level = "info";
  bool takes_over = false, marks_users = false, checks = false, is_dry = false, cleans = false;
};

/// The kernel's names of interfaces, without what means anything to nft.
bool is_interface_name(std::string_view name) {
  const auto is_plain = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
           std::string_view("_.@:-").find(c) != std::string_view::npos;
  };
  return !name.empty() && name.size() <= 15 && std::ranges::all_of(name, is_plain);
}

Expected<std::vector<int>> parse_code_points(std::string_view text) {
  std::vector<int> all;
  while (true) {
    const std::string_view word = text.substr(0, text.find(','));
    int value = -1;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (error != std::errc() || end != word.data() + word.size() || value < 0 || value > 63)
      return fail("--dscp: {} is not a number from 0 to 63", quoted(word));
    if (std::ranges::find(all, value) != all.end()) return fail("--dscp: has {} twice", value);
    all.push_back(value);
    if (text.find(',') == std::string_view::npos) break;
    text.remove_prefix(word.size() + 1);
  }
  if (all.size() < 2 || all.size() > 8 || all.back() != 0)
    return fail("--dscp: give 2 to 8 numbers, the first class first and 0 last");
  return all;
}

/// "htb 940mbit", "htb 10gbit"; 0 for "nic" and "none".
Expected<double> parse_queue(std::string_view text) {
  if (text == "nic" || text == "none") return 0.0;
  const auto wrong = [&] {
    return fail("--queue: {} is not known; give \"htb 940mbit\", \"nic\" or \"none\"",
                quoted(text));
  };
  if (!text.starts_with("htb ")) return wrong();
  text.remove_prefix(4);
  const double unit = text.ends_with("gbit") ? 1000 : 1;
  if (!text.ends_with("mbit") && unit == 1) return wrong();
  text.remove_suffix(4);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value * unit < 1 ||
      value * unit > 1e6)
    return wrong();
  return value * unit;
}

Expected<FlowHost> host_of(const FlowAgentOptions& options) {
  if (!is_interface_name(options.interface))
    return fail("--interface: {} is not the name of a network interface; `ip link` lists them",
                quoted(options.interface));
  auto code_points = parse_code_points(options.code_points);
  if (!code_points) return tl::make_unexpected(code_points.error());
  const auto mbit = parse_queue(options.queue);
  if (!mbit) return tl::make_unexpected(mbit.error());
  return FlowHost{options.interface, *std::move(code_points), *mbit, options.marks_users};
}

Expected<void> take_config(FlowAgentOptions& options, Command& command) {
  if (options.config.empty() && std::filesystem::exists(kSystemConfig))
    options.config = kSystemConfig;
  if (options.config.empty()) return {};
  std::ifstream file(options.config);
  if (!file || std::filesystem::is_directory(options.config))
    return fail("--config {}: cannot be read: {}", options.config,
                std::strerror(file ? EISDIR : errno));
  std::ostringstream text;
  text << file.rdbuf();
  return read_config(text.str(), options.config, command, "--config", "flow");
}

Expected<void> take_token(FlowAgentOptions& options) {
  if (options.token_file.empty()) return {};
  const auto text = read_private_file(options.token_file, 4096, true);
  if (!text) return tl::make_unexpected(text.error());
  if (!*text) return fail("--token-file {}: there is no such file", options.token_file);
  options.client.token = (*text)->substr(0, (*text)->find_last_not_of(" \t\r\n") + 1);
  return {};
}

std::string this_machine() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0) return {};
  const std::string whole(name.data());
  return whole.substr(0, whole.find('.'));
}

/// Prints what it would have the kernel do.
class DryKernel final : public FlowKernel {
 public:
  DryKernel(FlowHost host, std::optional<CgroupMount> mount)
      : host_(std::move(host)), mount_(std::move(mount)) {}

  std::optional<std::uint64_t> find_cgroup(const std::string& name) const override {
    return trainyard::find_cgroup(mount_, name);
  }
  Expected<void> mark(const Marks& marks) override {
    const std::string line = change_command(host_, mount_.value_or(CgroupMount{}), marks_, marks);
    marks_ = marks;
    return print("nft: " + line + "\n");
  }
  Expected<void> keep_floor(double floor) override {
    return host_.has_queue() ? print("tc: " + floor_command(host_, floor) + "\n")
                             : Expected<void>();
  }
  bool is_alive() override { return true; }

 private:
  const FlowHost host_;
  const std::optional<CgroupMount> mount_;
  Marks marks_;
};

/// Until a signal ends it.
class Running {
 public:
  Running(const FlowAgentOptions& options, FlowKernel& kernel, const FlowHost& host, Log& log)
      : options_(options),
        system_(log),
        log_(log),
        agent_(kernel, options.machine, host, kFirstFloor,
               [&log](FlowAgent::Level level, const std::string& text) {
                 log.write(level == FlowAgent::Level::info ? LogLevel::info : LogLevel::warning,
                           text);
               }) {}

  /// `linux_kernel` may be null: then nothing is counted.
  void until(const sigset_t& ends, LinuxFlowKernel* linux_kernel) {
    const Descriptor signals(::signalfd(-1, &ends, SFD_CLOEXEC));
    DaemonFeed feed(options_.client, options_.machine, [this](const std::string& problem) {
      problem.empty() ? log_.write(LogLevel::info, "connected to the daemon")
                      : log_.write(LogLevel::warning, "the daemon is away: " + problem);
    });
    notify_ready();
    pollfd waits[] = {{signals.get(), POLLIN, 0}, {feed.descriptor(), POLLIN, 0}};
    while ((waits[0].revents & POLLIN) == 0) {
      const Time now = system_.steady_clock();
      if (const auto line = feed.take()) agent_.hear(*line, now);
      agent_.tick(now);
      if (linux_kernel != nullptr && now >= next_metrics_) write_metrics(*linux_kernel, now);
      const Duration left = agent_.next_tick(now) - now;
      (void)::poll(waits, 2,
                   static_cast<int>(std::clamp<std::int64_t>(left.us / 1000 + 1, 1, 1000)));
    }
  }

 private:
  void write_metrics(LinuxFlowKernel& kernel, Time now) {
    next_metrics_ = now + kBetweenMetrics;
    if (options_.metrics.empty()) return;
    const auto bytes = kernel.bytes();
    const auto done =
        replace_file(options_.metrics,
                     agent_metrics(agent_.status(now), bytes ? *bytes : FlowBytes{}, now), 0644);
    const std::string problem = done ? "" : done.error().message;
    if (std::exchange(metrics_problem_, problem) != problem && !problem.empty())
      log_.write(LogLevel::warning, "--metrics: " + problem);
  }

  const FlowAgentOptions& options_;
  RealSystem system_;
  Log& log_;
  FlowAgent agent_;
  Time next_metrics_;
  std::string metrics_problem_;
};

Expected<void> run_dry(const FlowAgentOptions& options, const FlowHost& host, const sigset_t& ends,
                       Log& log) {
  const auto mount = cgroup_mount(host);
  if (!mount) return tl::make_unexpected(mount.error());
  std::string text;
  for (const std::string& command : table_commands(host)) text += "nft: " + command + "\n";
  if (host.has_queue())
    for (const std::string& command : queue_commands(host, kFirstFloor))
      text += "tc: " + command + "\n";
  if (auto ok = print(text); !ok) return ok;
  DryKernel kernel(host, *mount);
  Running(options, kernel, host, log).until(ends, nullptr);
  return {};
}

/// What arrives of our code points at a machine where --echo answers.
Expected<std::string> check_path(const std::string& peer, const FlowHost& host) {
  if (has_flow_table())
    return fail("an agent runs here, and sets code points of what is no job's to 0: end it first");
  const auto arrived = probe_code_points(peer, host.code_points);
  if (!arrived) return tl::make_unexpected(arrived.error());
  std::string problems;
  for (std::size_t i = 0; i < host.code_points.size(); ++i)
    if ((*arrived)[i] < 0)
      problems +=
          fmt::format("{}{} is not answered", problems.empty() ? "" : ", ", host.code_points[i]);
    else if ((*arrived)[i] != host.code_points[i])
      problems += fmt::format("{}{} arrives as {}", problems.empty() ? "" : ", ",
                              host.code_points[i], (*arrived)[i]);
  if (!problems.empty()) return fail("{}", problems);
  return fmt::format("all code points arrive at {}", peer);
}

/// How many jobs send from here, and how many of them an agent could not mark.
Expected<std::string> told_of(const std::string& state, const FlowAgentOptions& options,
                              const FlowHost& host, const std::optional<CgroupMount>& mount) {
  const DryKernel kernel(host, mount);
  const auto flows = parse_host_flows(state);
  if (!flows) return tl::make_unexpected(flows.error());
  const auto unmarked = std::ranges::count_if(flows->jobs, [&](const HostFlows::Job& job) {
    return !packets_of(job, kernel, host).is_told();
  });
  std::string text = fmt::format("{} jobs send from {}", flows->jobs.size(), options.machine);
  if (unmarked == 0) return text;
  return text + fmt::format("; {} have no control group{}, and are not marked", unmarked,
                            host.marks_users ? " and no user of their own" : "");
}

/// A line for each thing that an agent needs; fails if one is missing.
Expected<void> check(const FlowAgentOptions& options, const FlowHost& host) {
  std::vector<std::string> missing;
  std::string text;
  const auto tell = [&](const char* what, const Expected<std::string>& found) {
    text += fmt::format("{:<10} {}\n", what,
                        found ? "ok: " + *found : "missing: " + found.error().message);
    if (!found) missing.emplace_back(what);
  };
  const auto mount = cgroup_mount(host);
  tell("cgroups", mount ? Expected<std::string>(*mount ? "v2 at " + (*mount)->directory
                                                       : "none: jobs are marked by their users")
                        : Expected<std::string>(tl::make_unexpected(mount.error())));
  const auto queue = look_at_queue(host.interface);
  const bool is_foreign = queue && queue->what == RootQueue::foreign;
  if (!queue)
    tell("interface", tl::make_unexpected(queue.error()));
  else if (is_foreign && host.has_queue() && !options.takes_over)
    tell("interface", fail("{} has a queue that is not ours ({})", host.interface, queue->kind));
  else
    tell("interface", fmt::format("{}, whose queue is {}", host.interface, queue->kind));
  if (options.queue == "none")
    text += "queue      warning: without one at the host about half of the gain is lost\n";
  const auto table = try_table(host);
  tell("nft", table ? Expected<std::string>("it marks by control group")
                    : Expected<std::string>(tl::make_unexpected(table.error())));
  auto client = Client::open(options.client);
  const auto state = client ? client->get("/v1/flows?machine=" + url_encoded(options.machine))
                            : tl::make_unexpected(client.error());
  tell("daemon", state ? told_of(state->dump(), options, host, mount ? *mount : std::nullopt)
                       : Expected<std::string>(tl::make_unexpected(state.error())));
  if (!options.peer.empty()) tell("path", check_path(options.peer, host));
  if (auto ok = print(text); !ok) return ok;
  if (missing.empty()) return {};
  return fail("the agent cannot work here as things are");
}

/// Not the queue of an agent that runs. The table of one that was killed is gone a moment later.
Expected<void> clean(const std::string& interface) {
  for (int looks = 0; has_flow_table(); ++looks) {
    if (looks == kLooksForTable)
      return fail("an agent runs here, and needs its queue: end it, which removes the queue too");
    std::this_thread::sleep_for(kBetweenLooks);
  }
  return clean_queue(interface);
}

Expected<void> run(FlowAgentOptions& options, Command& command) {
  sigset_t ends;
  ::sigemptyset(&ends);
  ::sigaddset(&ends, SIGINT), ::sigaddset(&ends, SIGTERM);
  ::pthread_sigmask(SIG_BLOCK, &ends, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
  if (options.echo != 0) {
    const Descriptor signals(::signalfd(-1, &ends, SFD_CLOEXEC));
    return echo_code_points(static_cast<int>(options.echo), signals.get());
  }
  if (!options.peer.empty() && !options.checks) return fail("--peer: goes with --check");
  if (auto ok = take_config(options, command); !ok) return ok;
  if (options.interface.empty())
    return fail("give the interface that jobs send from, with --interface or in [flow]");
  if (options.cleans) {
    if (!is_interface_name(options.interface)) return tl::make_unexpected(host_of(options).error());
    return clean(options.interface);
  }
  if (options.queue.empty())
    return fail("give the queue, with --queue or in [flow]: \"htb 940mbit\", \"nic\" or \"none\"");
  const auto host = host_of(options);
  if (!host) return tl::make_unexpected(host.error());
  if (options.machine.empty()) options.machine = this_machine();
  if (auto ok = take_token(options); !ok) return ok;
  if (options.checks) return check(options, *host);
  const auto level = parse_log_level(options.log_level);
  if (!level) return fail_at("--log-level", level.error());
  auto log = open_log({"", *level});
  if (!log) return tl::make_unexpected(log.error());
  if (options.is_dry) return run_dry(options, *host, ends, **log);
  auto kernel = LinuxFlowKernel::open(*host, kFirstFloor, options.takes_over);
  if (!kernel) return tl::make_unexpected(kernel.error());
  Running(options, **kernel, *host, **log).until(ends, kernel->get());
  return {};
}

}  // namespace

void add_flow_agent_command(Command& program) {
  const auto options = std::make_shared<FlowAgentOptions>();
  Command& command = program.add(
      "flow-agent",
      "Has this machine's network send the bytes of jobs by their flow class, as the daemon orders "
      "them. One runs on each machine, with CAP_NET_ADMIN; see docs/network-live.md.",
      "trainyard flow-agent --interface eth0 --queue \"htb 9400mbit\" --server https://head:8642 "
      "--token-file /etc/trainyard/flow-token\n"
      "trainyard flow-agent --check         # what is missing here?\n"
      "trainyard flow-agent --dry-run       # prints what it would do\n"
      "trainyard flow-agent --clean         # removes a queue that a killed agent left");
  command.group = kLiveGroup;
  command.option(
      "--config", &options->config,
      "options from the table [flow] of this file, a key for each; the command line goes "
      "before [/etc/trainyard/config.toml, where it is there]",
      {.type = "FILE"});
  command.option("--interface", &options->interface, "the interface that jobs send from",
                 {.type = "NAME"});
  command.option("--queue", &options->queue,
                 "the queue of the interface: \"htb RATE\", a little below what the link carries; "
                 "\"nic\", which orders by DSCP itself; or \"none\"",
                 {.type = "QUEUE"});
  command.option("--dscp", &options->code_points,
                 "the code points of the classes, the first class first; all other traffic has 0",
                 {.type = "LIST", .initial = options->code_points});
  command.flag("--take-over", &options->takes_over,
               "replace a queue that somebody else made for the interface");
  command.flag("--by-user", &options->marks_users,
               "mark a job that has no control group by its user, if no other job of theirs is on "
               "the machine: all that they send from it goes with the job");
  command.option("--server", &options->client.server, "the daemon", {.type = "URL"});
  command.option("--state", &options->client.state,
                 "the daemon's state folder, where it runs on this machine", {.type = "DIR"});
  command.option("--token-file", &options->token_file,
                 "a file with a token of the role agent, for --server [TRAINYARD_TOKEN]",
                 {.type = "FILE"});
  command.option("--machine", &options->machine,
                 "this machine, as the daemon calls it [the host's name]", {.type = "NAME"});
  command.option("--metrics", &options->metrics,
                 "write counters for Prometheus to this file, for node_exporter's textfile "
                 "collector",
                 {.type = "FILE"});
  command.option("--log-level", &options->log_level, "the least severe lines that are written",
                 {.initial = options->log_level, .words = {"debug", "info", "warning", "error"}});
  command.flag("--check", &options->checks, "tell what is missing here, and change nothing");
  command.option("--peer", &options->peer,
                 "with --check: a machine where `flow-agent --echo PORT` runs; tells whether code "
                 "points survive on the way there",
                 {.type = "HOST:PORT"});
  command.option("--echo", &options->echo,
                 "answer the checks of other machines on this UDP port, until interrupted, and do "
                 "nothing else",
                 {.type = "PORT", .range = Range{1, 65535}});
  command.flag("--dry-run", &options->is_dry, "print what it would do, and change nothing");
  command.flag("--clean", &options->cleans, "remove our queue, where one was left, and end");
  command.action = [options, &command] { return run(*options, command); };
}

}  // namespace trainyard::cli
