#include "live/supervisor/supervise.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>

#include "live/supervisor/run_files.h"
#include "live/system/process_tree.h"
#include "live/system/system.h"

namespace trainyard {
namespace {

constexpr Duration kGraceOfGang = seconds(5);
constexpr Duration kGraceOfRequeue = seconds(30);  // as Slurm's KillWait
constexpr Duration kKillAgain = microseconds(10'000), kKillAgainAtMost = seconds(1);
constexpr Duration kLookForRequeue = seconds(1);
constexpr std::uint64_t kSignals = ~std::uint64_t{0};  // among the events; others are ranks
constexpr Duration kUnbornWait = seconds(5);
constexpr std::size_t kReadBytes = 1 << 16;

Time steady_now() {
  const auto since = std::chrono::steady_clock::now().time_since_epoch();
  return {std::chrono::duration_cast<std::chrono::microseconds>(since).count()};
}

/// As a shell has it.
int shell_status(int status) {
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

std::string describe_end(int status) {
  if (!WIFSIGNALED(status)) return fmt::format("exit status {}", WEXITSTATUS(status));
  const char* name = ::sigabbrev_np(WTERMSIG(status));
  return fmt::format("killed by signal {} (SIG{})", WTERMSIG(status), name ? name : "?");
}

}  // namespace

Supervisor::Supervisor(std::string directory, RunPlan plan)
    : directory_(std::move(directory)),
      own_files_(job_directory(directory_)),
      plan_(std::move(plan)),
      cgroup_(plan_.cgroups, plan_.cgroup),
      events_(::epoll_create1(EPOLL_CLOEXEC)) {}

void Supervisor::listen_to_signals() {
  sigset_t set;
  ::sigemptyset(&set);
  for (const int number : {SIGCHLD, SIGUSR1, SIGTERM}) ::sigaddset(&set, number);
  ::sigprocmask(SIG_SETMASK, &set, nullptr);
  // A terminal's or a session's end, and a limit of our own on files, must not end the run.
  for (const int number : {SIGHUP, SIGINT, SIGPIPE, SIGXFSZ}) ::signal(number, SIG_IGN);
  signals_ = Descriptor(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  epoll_event event{.events = EPOLLIN, .data = {.u64 = kSignals}};
  ::epoll_ctl(events_.get(), EPOLL_CTL_ADD, signals_.get(), &event);
}

RunEnd Supervisor::run(Descriptor started) {
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  listen_to_signals();
  const auto login = confine();
  const Expected<void> ok = login ? start_workers(*login) : tl::make_unexpected(login.error());
  if (ok) {
    const std::string at = std::to_string(wall_clock_now().us);
    std::ignore = ::pwrite(started.get(), at.data(), at.size(), 0);
  } else {
    killing_ = true;
  }
  started.reset();
  const Time began = steady_now();
  if (plan_.ask_after.us > 0) stop_.ask_at(plan_.stop, steady_now() + plan_.ask_after);
  until_over();
  RunEnd end = end_of_run();
  end.ran = end.steady - began;
  cgroup_.remove();
  if (!ok)
    end = {.kind = login ? RunEnd::Kind::refused : RunEnd::Kind::lost,
           .status = 127,
           .at = end.at,
           .why = ok.error().message};
  return end;
}

Expected<LoginLimits> Supervisor::confine() {
  const auto made =
      cgroup_.make({.resources = plan_.per_worker * static_cast<std::int32_t>(plan_.gpus.size()),
                    .processes = plan_.processes,
                    .denied = plan_.denied_devices});
  if (!made) return tl::make_unexpected(made.error());
  return login_limits(plan_.user, [this] { return was_stopped(); });
}

bool Supervisor::was_stopped() {
  on_signal();
  return stop_.has_begun();
}

Expected<void> Supervisor::start_workers(const LoginLimits& login) {
  const StartPatience patience{.is_stopped = [this] { return was_stopped(); }};
  const std::size_t count = plan_.runs_once ? 1 : plan_.gpus.size();
  for (std::size_t rank = 0; rank < count; ++rank) {
    const auto number = static_cast<std::int32_t>(rank);
    auto process = start_worker(plan_, number, cgroup_, login, patience, unborn_);
    if (!process && stop_.has_begun()) {
      // That it did not begin is no fault of the job, which may be run again.
      status_ = 128 + SIGKILL;
      why_ = process.error().message;
      return {};
    }
    if (!process) return tl::make_unexpected(process.error());
    workers_.push_back({.pid = process->pid,
                        .output = std::move(process->output),
                        .log = LogWriter(directory_, number, plan_.output_limit)});
    ++workers_left_;
    epoll_event event{.events = EPOLLIN, .data = {.u64 = rank}};
    ::epoll_ctl(events_.get(), EPOLL_CTL_ADD, workers_.back().output.get(), &event);
  }
  return {};
}

void Supervisor::until_over() {
  reap();
  while (children_left_) {
    if (workers_left_ == 0 && !stop_.has_begun() && !died_of_asking_) killing_ = true;
    take_stop_steps();
    if (killing_) kill_all();
    wait_for_events();
    look_for_requeue();
    reap();
  }
  // Whoever else was handed the other end of a pipe is not waited for.
  for (Worker& worker : workers_) pump(worker);
}

void Supervisor::wait_for_events() {
  const Time next = next_wake();
  int timeout_ms = -1;
  if (next != Time::never()) {
    const std::int64_t us = std::max<std::int64_t>(0, (next - steady_now()).us);
    timeout_ms = static_cast<int>(std::min<std::int64_t>((us + 999) / 1000, 3'600'000));
  }
  std::array<epoll_event, 16> events;
  const int count = ::epoll_wait(events_.get(), events.data(), events.size(), timeout_ms);
  for (int i = 0; i < count; ++i) {
    if (events[i].data.u64 == kSignals)
      on_signal();
    else
      pump(workers_[events[i].data.u64]);
  }
}

Time Supervisor::next_wake() const {
  const Time again = killing_  ? steady_now() + kill_again_
                     : unborn_ ? steady_now() + kKillAgainAtMost
                               : Time::never();
  return std::min({again, stop_.next(), next_look_});
}

void Supervisor::on_signal() {
  signalfd_siginfo info;
  while (::read(signals_.get(), &info, sizeof info) == sizeof info) {
    if (info.ssi_signo == SIGUSR1) read_stop_order();
    if (info.ssi_signo == SIGTERM) {
      going_down_ = !stop_.has_begun();
      stop_.order(plan_.stop, steady_now());
    }
  }
}

void Supervisor::read_stop_order() {
  const auto text = read_small_file(directory_ + "/stop");
  const auto order = text ? parse_stop_order(*text) : tl::make_unexpected(text.error());
  stop_.order(order.value_or(plan_.stop), steady_now());
}

/// Polls the file. The kernel limits the inotify instances of a user, 128 by default, and all
/// supervisors of root's daemon share them with the rest of the system.
void Supervisor::look_for_requeue() {
  if (steady_now() < next_look_) return;
  next_look_ = steady_now() + kLookForRequeue;
  const auto asked = requeue_of_job(own_files_, plan_.uid);
  if (!asked || asked->is_empty()) return;
  next_look_ = Time::never();
  stop_.order({.signal = 0, .leader_only = false, .grace = kGraceOfRequeue, .kill_wait = {}},
              steady_now());
}

/// One worker's part per turn, so that one that prints without end does not keep the others
/// waiting.
void Supervisor::pump(Worker& worker) {
  std::array<char, kReadBytes> part;
  ssize_t got = 0;
  for (int turn = 0; turn < 16; ++turn) {
    got = ::read(worker.output.get(), part.data(), part.size());
    if (got <= 0) break;
    worker.log.write({part.data(), static_cast<std::size_t>(got)}, steady_now());
  }
  if (got == 0) worker.output.reset();
}

void Supervisor::reap() {
  for (;;) {
    int status = 0;
    const pid_t pid = ::waitpid(-1, &status, WNOHANG);
    if (pid < 0 && errno == EINTR) continue;
    if (pid <= 0) {
      children_left_ = pid == 0 && !only_unborn_left();
      return;
    }
    const auto worker = std::find_if(workers_.begin(), workers_.end(), [&](const Worker& each) {
      return !each.ended && each.pid == pid;
    });
    if (worker != workers_.end())
      on_worker_end(static_cast<std::size_t>(worker - workers_.begin()), status);
  }
}

/// One that cannot die, because a file system does not answer, is not waited for: it has no GPU.
bool Supervisor::only_unborn_left() {
  if (!unborn_ || !unborn_->is_stuck()) return false;
  if (unborn_since_ == Time::never()) unborn_since_ = steady_now();
  if (steady_now() < unborn_since_ + kUnbornWait) return false;
  return std::ranges::all_of(descendants(::getpid()),
                             [this](pid_t pid) { return pid == unborn_->pid; });
}

void Supervisor::on_worker_end(std::size_t rank, int status) {
  workers_[rank].ended = true;
  --workers_left_;
  const bool of_asking = stop_.has_asked() && !stop_.asked().leader_only && WIFSIGNALED(status) &&
                         WTERMSIG(status) == stop_.asked().signal;
  died_of_asking_ = died_of_asking_ || of_asking;
  if (shell_status(status) == 0 || status_ != 0) return;
  status_ = shell_status(status);
  why_ = describe_end(status);
  if (workers_.size() == 1) return;
  why_ = fmt::format("worker {}: {}", rank, why_);
  if (workers_left_ > 0 && !of_asking)
    stop_.order({.signal = 0, .leader_only = false, .grace = kGraceOfGang, .kill_wait = {}},
                steady_now());
}

void Supervisor::take_stop_steps() {
  using Step = StopSequence::Step;
  for (Step step = stop_.take(steady_now()); step != Step::none; step = stop_.take(steady_now())) {
    if (step == Step::kill) {
      killing_ = was_killed_ = true;
      continue;
    }
    signal_workers(SIGCONT, false);
    if (step == Step::ask) ask();
    if (step == Step::terminate) signal_workers(SIGTERM, false);
  }
}

void Supervisor::ask() const {
  const StopOrder& how = stop_.asked();
  plan_.runs_once && !how.leader_only ? signal_steps(how.signal)
                                      : signal_workers(how.signal, how.leader_only);
}

// The number of a process or group that has ended may be a stranger's at any moment. So a number is
// signalled only if it is that of a worker which we have not collected, because the kernel gives it
// to no other until then. All other processes are signalled one by one, held by a pidfd while it is
// checked that they are ours.

/// As in Slurm, a signal that is not for the script itself is for what `srun` has started: these
/// have groups of their own. Where there are none it is for all but the script's shell, which would
/// die of it and take the job along.
void Supervisor::signal_steps(int number) const {
  const pid_t self = ::getpid(), shell = workers_[0].pid;
  const auto is_ours = [&](pid_t pid) { return pid != shell && is_descendant(pid, self); };
  const auto is_of_step = [&](pid_t pid) { return ::getpgid(pid) != shell && is_ours(pid); };
  const std::vector<pid_t> all = descendants(self);
  const bool has_steps = std::ranges::any_of(all, is_of_step);
  for (const pid_t pid : all)
    signal_if(pid, number,
              [&](pid_t held) { return has_steps ? is_of_step(held) : is_ours(held); });
}

void Supervisor::signal_workers(int number, bool leader_only) const {
  for (const Worker& worker : workers_)
    if (!worker.ended) ::kill(leader_only ? worker.pid : -worker.pid, number);
  if (leader_only) return;
  const auto is_left = [&](pid_t pid) {
    const auto worker = std::ranges::find(workers_, ::getpgid(pid), &Worker::pid);
    // srun passes signals on to what it has started, which is in no worker's group.
    return worker == workers_.end() ? !plan_.runs_once : worker->ended;
  };
  const pid_t self = ::getpid();
  for (const pid_t pid : descendants(self))
    signal_if(pid, number, [&](pid_t held) { return is_left(held) && is_descendant(held, self); });
}

void Supervisor::kill_all() {
  // One that hangs in the kernel can take hours to die; it is not asked a hundred times a second.
  kill_again_ = std::min(std::max(kKillAgain, kill_again_ * 2), kKillAgainAtMost);
  cgroup_.kill();
  const pid_t self = ::getpid();
  for (const pid_t pid : descendants(self))
    signal_if(pid, SIGKILL, [self](pid_t held) { return is_descendant(held, self); });
}

RunEnd Supervisor::end_of_run() const {
  const RealSystem system;
  RunEnd end{.status = status_,
             .at = system.wall_clock(),
             .steady = system.steady_clock(),
             .boot = system.boot(),
             .why = why_,
             .was_killed = was_killed_,
             .word = word_of_job(own_files_, plan_.uid)};
  end.asked_requeue = requeue_of_job(own_files_, plan_.uid).has_value();
  if (status_ != 0 && cgroup_.ran_out_of_memory()) {
    const auto workers = static_cast<std::int64_t>(plan_.gpus.size());
    end.why = fmt::format("out of memory: its limit is {}",
                          format_memory(workers * plan_.per_worker.memory_mib));
  }
  if (going_down_) {
    end.kind = RunEnd::Kind::lost;
    end.why = "its supervisor was told to end, as when the machine goes down";
  }
  return end;
}

}  // namespace trainyard
