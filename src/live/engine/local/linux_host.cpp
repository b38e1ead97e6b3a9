#include "live/engine/local/linux_host.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "live/engine/local/launch.h"
#include "live/engine/local/supervisor_link.h"
#include "live/supervisor/environment.h"
#include "live/system/process_tree.h"

namespace trainyard {

Expected<std::unique_ptr<RunHost>> LinuxHost::open(std::string supervisor) {
  if (::access(supervisor.c_str(), X_OK) != 0)
    return fail("{}: the supervisor cannot be run: {}", supervisor, std::strerror(errno));
  std::unique_ptr<LinuxHost> host(new LinuxHost(std::move(supervisor)));
  if (auto ok = host->open_events(); !ok) return tl::make_unexpected(ok.error());
  return host;
}

Expected<void> LinuxHost::open_events() {
  events_ = Descriptor(::epoll_create1(EPOLL_CLOEXEC));
  timer_ = Descriptor(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
  notices_ = Descriptor(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
  wake_ = Descriptor(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  for (const Descriptor* source : {&timer_, &notices_, &wake_}) {
    // Other programs of this user may have taken all inotify instances. Runs are then found to have
    // started when the engine looks at them, once a second.
    if (source == &notices_ && !notices_) continue;
    epoll_event event{.events = EPOLLIN, .data = {.fd = source->get()}};
    if (::epoll_ctl(events_.get(), EPOLL_CTL_ADD, source->get(), &event) != 0)
      return fail("the engine cannot listen for events: {}", std::strerror(errno));
  }
  return {};
}

Expected<Account> LinuxHost::account_of(const Identity& owner) {
  return trainyard::account_of(owner);
}

Expected<HeldPort> LinuxHost::hold_port(JobNumber job) {
  return trainyard::hold_port(job);
}

// --- supervisors ---

Expected<SupervisorId> LinuxHost::spawn(const std::string& directory,
                                        std::vector<Descriptor> claims) {
  auto process = spawn_supervisor(program_, directory, std::move(claims));
  if (!process) return tl::make_unexpected(process.error());
  return keep(std::move(*process));
}

Expected<std::optional<SupervisorId>> LinuxHost::find(const std::string& directory) {
  auto process = supervisor_of(directory);
  if (!process) return tl::make_unexpected(process.error());
  return *process ? std::optional(keep(std::move(*process))) : std::nullopt;
}

Expected<bool> LinuxHost::lives(const std::string& directory) {
  const auto process = supervisor_of(directory);
  if (!process) return tl::make_unexpected(process.error());
  return static_cast<bool>(*process);
}

SupervisorId LinuxHost::keep(Descriptor process) {
  const SupervisorId id{process.get()};
  epoll_event event{.events = EPOLLIN, .data = {.fd = process.get()}};
  ::epoll_ctl(events_.get(), EPOLL_CTL_ADD, process.get(), &event);
  supervisors_.insert_or_assign(id, std::move(process));
  return id;
}

void LinuxHost::signal(SupervisorId supervisor, int number) {
  ::syscall(SYS_pidfd_send_signal, static_cast<int>(supervisor), number, nullptr, 0);
}

bool LinuxHost::has_processes(SupervisorId supervisor) {
  const pid_t pid = pid_of(static_cast<int>(supervisor));
  return pid > 0 && has_living_child(pid);
}

void LinuxHost::release(SupervisorId supervisor) {
  siginfo_t ignored;
  // Only our own children leave something to collect.
  ::waitid(P_PIDFD, static_cast<id_t>(supervisor), &ignored, WEXITED | WNOHANG);
  supervisors_.erase(supervisor);
}

bool LinuxHost::clear(const RunRemains& remains) {
  const RunCgroup group(remains.cgroups, remains.cgroup);
  if (group.exists()) {
    const bool is_empty = group.members().empty();
    is_empty ? group.remove() : group.kill();
    return is_empty;
  }
  const ProcessMarks marks{
      .user = remains.user,
      .variables = marks_of_run(remains.directory, remains.id.job, remains.id.run)};
  const auto left = processes_with(marks);
  for (const pid_t pid : left)
    signal_if(pid, SIGKILL, [&](pid_t held) { return has_marks(held, marks); });
  return left.empty();
}

// --- events ---

std::optional<WatchId> LinuxHost::watch(const std::string& directory) {
  const int watch = ::inotify_add_watch(notices_.get(), directory.c_str(), IN_CLOSE_WRITE);
  return watch >= 0 ? std::optional(WatchId{watch}) : std::nullopt;
}

void LinuxHost::unwatch(WatchId watch) {
  ::inotify_rm_watch(notices_.get(), static_cast<int>(watch));
}

void LinuxHost::set_timer(Duration time) {
  const itimerspec spec{
      .it_interval = {},
      .it_value = {.tv_sec = time.us / 1'000'000, .tv_nsec = time.us % 1'000'000 * 1000}};
  ::timerfd_settime(timer_.get(), 0, &spec, nullptr);
}

void LinuxHost::wake() {
  const std::uint64_t one = 1;
  std::ignore = ::write(wake_.get(), &one, sizeof one);
}

HostEvents LinuxHost::take_events() {
  HostEvents happened;
  std::array<epoll_event, 64> events;
  const int count = ::epoll_wait(events_.get(), events.data(), events.size(), 0);
  std::uint64_t ignored = 0;
  for (int i = 0; i < count; ++i) {
    const int source = events[i].data.fd;
    if (source == notices_.get())
      read_notices(happened);
    else if (source == timer_.get())
      happened.timer = ::read(source, &ignored, sizeof ignored) > 0;
    else if (source != wake_.get())
      happened.ended.push_back(SupervisorId{source});
  }
  std::ignore = ::read(wake_.get(), &ignored, sizeof ignored);
  return happened;
}

void LinuxHost::read_notices(HostEvents& events) {
  alignas(inotify_event) std::array<char, 1 << 14> buffer;
  ssize_t got = 0;
  while ((got = ::read(notices_.get(), buffer.data(), buffer.size())) > 0) {
    for (const char* at = buffer.data(); at < buffer.data() + got;) {
      const auto* notice = reinterpret_cast<const inotify_event*>(at);
      at += sizeof(inotify_event) + notice->len;
      if (notice->len > 0 && std::strcmp(notice->name, "started") == 0)
        events.written.push_back(WatchId{notice->wd});
    }
  }
}

}  // namespace trainyard
