// This machine, as the local engine sees it: a supervisor's pidfd tells when it ends, inotify when
// a run has started. That is one inotify instance, and the engine can do without.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "live/engine/local/run_host.h"

namespace trainyard {

class LinuxHost : public RunHost {
 public:
  /// `supervisor` is the program.
  static Expected<std::unique_ptr<RunHost>> open(std::string supervisor);

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
  [[nodiscard]] int descriptor() const override { return events_.get(); }
  [[nodiscard]] HostEvents take_events() override;

 private:
  explicit LinuxHost(std::string supervisor) : program_(std::move(supervisor)) {}
  Expected<void> open_events();
  SupervisorId keep(Descriptor process);
  void read_notices(HostEvents& events);

  std::string program_;
  Descriptor events_, timer_, notices_, wake_;
  std::map<SupervisorId, Descriptor> supervisors_;  // a pidfd's number is its id
};

}  // namespace trainyard
