#include "live/srun/tasks.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>

#include "live/system/process_tree.h"

namespace trainyard {
namespace {

constexpr Duration kKillWait = seconds(30);  // from SIGTERM to SIGKILL
constexpr std::size_t kLongestLine = 1 << 16;
constexpr std::array kPassedOn{SIGHUP,  SIGINT,  SIGQUIT, SIGUSR1,
                               SIGUSR2, SIGTERM, SIGCONT, SIGALRM};

Time steady_now() {
  const auto since = std::chrono::steady_clock::now().time_since_epoch();
  return {std::chrono::duration_cast<std::chrono::microseconds>(since).count()};
}

std::vector<char*> pointers(std::vector<std::string>& lines) {
  std::vector<char*> all;
  for (std::string& line : lines) all.push_back(line.data());
  all.push_back(nullptr);
  return all;
}

void say(const std::string& text) {
  std::ignore = write_all(STDERR_FILENO, "srun: " + text + "\n");
}

/// What a task's process needs, made before the fork.
struct Preparation {
  std::vector<char*> arguments, environment;
  const std::string& directory;
  pid_t parent = 0;
  int in = -1, out = -1, error = -1;  // -1: srun's own
};

/// Returns only if it fails; ends with the error's number then, as Slurm's tasks do.
int become_task(Preparation& prepared) {
  ::setpgid(0, 0);
  for (int number = 1; number < NSIG; ++number) ::signal(number, SIG_DFL);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != prepared.parent) return ESRCH;
  if (prepared.in >= 0) ::dup2(prepared.in, STDIN_FILENO);
  if (prepared.out >= 0) ::dup2(prepared.out, STDOUT_FILENO);
  if (prepared.error >= 0) ::dup2(prepared.error, STDERR_FILENO);
  if (!prepared.directory.empty() && ::chdir(prepared.directory.c_str()) != 0) {
    const int why = errno;
    say(fmt::format("error: {}: cannot be entered: {}", prepared.directory, std::strerror(why)));
    return why;
  }
  environ = prepared.environment.data();
  ::execvp(prepared.arguments[0], prepared.arguments.data());
  const int why = errno;
  say(fmt::format("error: {}: cannot be run: {}", prepared.arguments[0], std::strerror(why)));
  return why;
}

}  // namespace

Tasks::Tasks(Step step, const Variables& variables)
    : step_(std::move(step)), variables_(variables) {}

Expected<void> Tasks::start() {
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  listen_to_signals();
  for (std::int32_t rank = 0; rank < step_.options.tasks; ++rank)
    if (auto ok = start_task(rank); !ok) {
      signal_all(SIGKILL);
      return ok;
    }
  return {};
}

void Tasks::listen_to_signals() {
  sigset_t set;
  ::sigemptyset(&set);
  ::sigaddset(&set, SIGCHLD);
  for (const int number : kPassedOn) ::sigaddset(&set, number);
  ::sigprocmask(SIG_BLOCK, &set, nullptr);
  ::signal(SIGPIPE, SIG_IGN);
  signals_ = Descriptor(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
}

/// One file may be that of several tasks; it is emptied once.
Expected<int> Tasks::file_of(const std::string& pattern, std::int32_t rank) {
  if (pattern.empty()) return -1;
  const std::string name = task_file(pattern, step_, rank, variables_);
  if (const auto known = files_.find(name); known != files_.end()) return known->second.get();
  const int how = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | (step_.options.append ? 0 : O_TRUNC);
  Descriptor file(::open(name.c_str(), how, 0666));
  if (!file) return fail("{}: cannot be opened: {}", name, std::strerror(errno));
  return files_.emplace(name, std::move(file)).first->second.get();
}

/// The end of a pipe for the task, whose lines we then pass on with its number before them.
Expected<Descriptor> Tasks::labelled(int to, std::int32_t rank) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return fail("no pipe: {}", std::strerror(errno));
  ::fcntl(ends[0], F_SETFL, O_NONBLOCK);
  const std::size_t width = std::to_string(step_.options.tasks - 1).size();
  streams_.push_back({.from = Descriptor(ends[0]),
                      .to = to,
                      .label = fmt::format("{:{}}: ", rank, width),
                      .line = {}});
  return Descriptor(ends[1]);
}

Expected<void> Tasks::start_task(std::int32_t rank) {
  const StepOptions& options = step_.options;
  std::vector<std::string> arguments = options.command;
  std::vector<std::string> lines = task_environment(step_, rank, variables_);
  const auto out = file_of(options.output, rank);
  const auto error = file_of(options.error.empty() ? options.output : options.error, rank);
  if (!out) return tl::make_unexpected(out.error());
  if (!error) return tl::make_unexpected(error.error());
  // One task reads what srun would; several would take it from each other.
  const Descriptor null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  Preparation prepared{.arguments = pointers(arguments),
                       .environment = pointers(lines),
                       .directory = options.directory,
                       .parent = ::getpid(),
                       .in = options.tasks == 1 ? -1 : null.get(),
                       .out = *out,
                       .error = *error};
  Descriptor labelled_out, labelled_error;
  if (options.label) {
    auto first = labelled(*out >= 0 ? *out : STDOUT_FILENO, rank);
    auto second = labelled(*error >= 0 ? *error : STDERR_FILENO, rank);
    if (!first || !second) return tl::make_unexpected((first ? second : first).error());
    labelled_out = std::move(*first), labelled_error = std::move(*second);
    prepared.out = labelled_out.get(), prepared.error = labelled_error.get();
  }
  const pid_t pid = ::fork();
  if (pid < 0) return fail("task {} cannot be started: {}", rank, std::strerror(errno));
  if (pid == 0) ::_exit(become_task(prepared));
  ::setpgid(pid, pid);  // as the task does itself: whoever comes first
  tasks_.push_back({.pid = pid});
  ++left_;
  return {};
}

int Tasks::wait() {
  reap();
  while (left_ > 0) {
    wait_for_events();
    reap();
    end_in_time();
  }
  clear_rest();
  for (Stream& stream : streams_) {
    pump(stream);
    if (!stream.line.empty()) put(stream, stream.line + "\n");
  }
  return status_;
}

void Tasks::wait_for_events() {
  std::vector<pollfd> waits{{.fd = signals_.get(), .events = POLLIN, .revents = 0}};
  for (const Stream& stream : streams_)  // a negative one is passed over
    waits.push_back({.fd = stream.from.get(), .events = POLLIN, .revents = 0});
  const Time next = std::min(end_at_, kill_at_);
  int timeout_ms = -1;
  if (next != Time::never())
    timeout_ms = static_cast<int>(
        std::clamp<std::int64_t>((next - steady_now()).us / 1000 + 1, 0, 3'600'000));
  if (::poll(waits.data(), waits.size(), timeout_ms) <= 0) return;
  if (waits[0].revents != 0) pass_on_signals();
  for (std::size_t i = 0; i < streams_.size(); ++i)
    if (waits[i + 1].revents != 0) pump(streams_[i]);
}

void Tasks::pass_on_signals() {
  signalfd_siginfo info;
  while (::read(signals_.get(), &info, sizeof info) == sizeof info)
    if (info.ssi_signo != SIGCHLD) signal_all(static_cast<int>(info.ssi_signo));
}

/// To whole groups: what a task has started is part of it.
void Tasks::signal_all(int number) const {
  for (const Task& task : tasks_)
    if (!task.ended) ::kill(-task.pid, number);
}

void Tasks::put(const Stream& stream, std::string_view text) {
  std::ignore = write_all(stream.to, stream.label + std::string(text));
}

/// Whole lines, so that those of several tasks do not mix.
void Tasks::pump(Stream& stream) {
  std::array<char, 1 << 14> part;
  ssize_t got = 0;
  while (stream.from && (got = ::read(stream.from.get(), part.data(), part.size())) > 0) {
    stream.line.append(part.data(), static_cast<std::size_t>(got));
    std::size_t begin = 0;
    for (std::size_t end = 0; (end = stream.line.find('\n', begin)) != std::string::npos;
         begin = end + 1)
      put(stream, std::string_view(stream.line).substr(begin, end + 1 - begin));
    stream.line.erase(0, begin);
    if (stream.line.size() > kLongestLine) put(stream, std::exchange(stream.line, {}) + "\n");
  }
  if (got == 0) stream.from.reset();
}

void Tasks::reap() {
  int status = 0;
  for (pid_t pid = 0; (pid = ::waitpid(-1, &status, WNOHANG)) > 0;) {
    const auto task = std::ranges::find_if(
        tasks_, [&](const Task& each) { return !each.ended && each.pid == pid; });
    if (task != tasks_.end()) on_end(static_cast<std::size_t>(task - tasks_.begin()), status);
  }
}

void Tasks::on_end(std::size_t rank, int status) {
  tasks_[rank].ended = true;
  --left_;
  const bool killed = WIFSIGNALED(status);
  const int ours = killed ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  status_ = std::max(status_, ours);
  if (step_.options.wait.us > 0 && end_at_ == Time::never())
    end_at_ = steady_now() + step_.options.wait;
  if (ours == 0) return;
  const auto host = variables_.find("SLURM_JOB_NODELIST");
  say(fmt::format("error: {}: task {}: {}", host == variables_.end() ? "?" : host->second, rank,
                  killed ? std::string(::strsignal(WTERMSIG(status)))
                         : fmt::format("Exited with exit code {}", ours)));
  if (step_.options.kill_on_bad_exit) end_at_ = steady_now();
}

/// The others of a task that has ended, where that was asked for.
void Tasks::end_in_time() {
  const Time now = steady_now();
  if (kill_at_ <= now) {
    signal_all(SIGKILL);
    kill_at_ = Time::never();
  }
  if (end_at_ > now) return;
  end_at_ = Time::never();
  if (left_ == 0 || kill_at_ != Time::never()) return;
  signal_all(SIGTERM);
  kill_at_ = now + kKillWait;
}

/// What tasks have left behind is our child by now, or that of one which is.
void Tasks::clear_rest() {
  constexpr int kTries = 100;
  const pid_t self = ::getpid();
  for (int tries = 0; tries < kTries && ::waitpid(-1, nullptr, WNOHANG) >= 0; ++tries) {
    for (const pid_t pid : descendants(self))
      signal_if(pid, SIGKILL, [self](pid_t held) { return is_descendant(held, self); });
    ::poll(nullptr, 0, 10);
  }
}

}  // namespace trainyard
