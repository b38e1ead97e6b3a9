// A simulated machine (simulated_world.h) as one engine sees it, from the daemon's start to its
// end. Events of the world that this engine has not taken go to the next one.
#pragma once

#include <algorithm>
#include <set>

#include "live/engine/local/run_host.h"
#include "live/engine/local/simulated_world.h"

namespace trainyard {

class SimulatedHost : public RunHost {
 public:
  /// The daemon may die at each call that changes something: `System::before` then fails, and an
  /// exception ends what the engine was doing.
  SimulatedHost(System& system, SimulatedWorld& world);

  [[nodiscard]] Expected<Account> account_of(const Identity& owner) override;
  [[nodiscard]] Expected<HeldPort> hold_port(JobNumber job) override;
  Expected<SupervisorId> spawn(const std::string& directory,
                               std::vector<Descriptor> claims) override;
  Expected<std::optional<SupervisorId>> find(const std::string& directory) override;
  Expected<bool> lives(const std::string& directory) override;
  void signal(SupervisorId supervisor, int number) override;
  bool has_processes(SupervisorId supervisor) override;
  void release(SupervisorId supervisor) override;
  bool clear(const RunRemains& remains) override;
  std::optional<WatchId> watch(const std::string& directory) override;
  void unwatch(WatchId watch) override;
  void set_timer(Duration time) override;
  void wake() override;
  [[nodiscard]] int descriptor() const override { return wake_.get(); }
  [[nodiscard]] HostEvents take_events() override;

  /// Returns when the next event or timer is due.
  [[nodiscard]] Time next() const { return std::min(world_.next(), timer_); }

 private:
  void act(std::string_view what);

  System& system_;
  SimulatedWorld& world_;
  Descriptor wake_;
  Time timer_ = Time::never();
  std::set<SupervisorId> known_;
  std::map<WatchId, std::string> watches_;
  int last_watch_ = 0;
};

}  // namespace trainyard
