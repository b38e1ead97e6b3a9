#include "live/engine/local/simulated_host.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <stdexcept>

namespace trainyard {
namespace {

// A look once a second at hours of simulated time would be most of what a simulation does. A
// machine that is busy looks as seldom.
constexpr Duration kLongTimer = seconds(1), kLongTimerTakes = seconds(5);

}  // namespace

SimulatedHost::SimulatedHost(System& system, SimulatedWorld& world)
    : system_(system), world_(world), wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  world_.catch_up();
  world_.ended_.clear();
  world_.started_.clear();
}

void SimulatedHost::act(std::string_view what) {
  if (auto ok = system_.before(what); !ok) throw std::runtime_error(ok.error().message);
}

/// All jobs are ours, whoever simulates.
Expected<Account> SimulatedHost::account_of(const Identity& owner) {
  return Account{.uid = ::geteuid(),
                 .gid = ::getegid(),
                 .groups = {},
                 .user = owner.user,
                 .home = "/",
                 .shell = "/bin/sh"};
}

Expected<HeldPort> SimulatedHost::hold_port(JobNumber job) {
  world_.catch_up();
  return HeldPort{.number = world_.free_port(job), .socket = Descriptor()};
}

Expected<SupervisorId> SimulatedHost::spawn(const std::string& directory,
                                            std::vector<Descriptor> /*claims*/) {
  act("host.spawn");
  const SupervisorId id{world_.spawn(directory)};
  known_.insert(id);
  act("host.spawned");
  return id;
}

Expected<std::optional<SupervisorId>> SimulatedHost::find(const std::string& directory) {
  world_.catch_up();
  const int number = world_.find(directory);
  if (number == 0) return std::nullopt;
  known_.insert(SupervisorId{number});
  return SupervisorId{number};
}

Expected<bool> SimulatedHost::lives(const std::string& directory) {
  world_.catch_up();
  return world_.find(directory) != 0;
}

void SimulatedHost::signal(SupervisorId supervisor, int number) {
  act("host.signal");
  world_.signal(static_cast<int>(supervisor), number);
}

bool SimulatedHost::has_processes(SupervisorId supervisor) {
  return world_.has_processes(static_cast<int>(supervisor));
}

void SimulatedHost::release(SupervisorId supervisor) {
  known_.erase(supervisor);
}

bool SimulatedHost::clear(const RunRemains& remains) {
  act("host.clear");
  return world_.clear(remains.directory);
}

std::optional<WatchId> SimulatedHost::watch(const std::string& directory) {
  const WatchId id{++last_watch_};
  watches_.emplace(id, directory);
  return id;
}

void SimulatedHost::unwatch(WatchId watch) {
  watches_.erase(watch);
}

void SimulatedHost::set_timer(Duration time) {
  const Duration takes = time >= kLongTimer ? kLongTimerTakes : time;
  timer_ = time.us == 0 ? Time::never() : system_.steady_clock() + takes;
}

void SimulatedHost::wake() {
  const std::uint64_t one = 1;
  std::ignore = ::write(wake_.get(), &one, sizeof one);
}

HostEvents SimulatedHost::take_events() {
  std::uint64_t ignored = 0;
  std::ignore = ::read(wake_.get(), &ignored, sizeof ignored);
  world_.catch_up();
  HostEvents events;
  events.timer = timer_ <= system_.steady_clock();
  if (events.timer) timer_ = Time::never();
  for (const std::string& directory : std::exchange(world_.started_, {}))
    for (const auto& [watch, of] : watches_)
      if (of == directory) events.written.push_back(watch);
  for (const int number : std::exchange(world_.ended_, {}))
    if (known_.contains(SupervisorId{number})) events.ended.push_back(SupervisorId{number});
  return events;
}

}  // namespace trainyard
