// The seam between the local engine and the operating system: supervisors' processes, what they
// leave behind, and events. The engine is the same code on a real machine (linux_host.h) and in the
// simulation of the daemon (simulated_host.h); the comments here hold for both.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/time.h"
#include "live/engine/engine.h"
#include "live/engine/local/account.h"
#include "live/supervisor/cgroup.h"
#include "live/system/files.h"
#include "live/system/held_port.h"

namespace trainyard {

/// A supervisor that the host watches, from spawn() or find() until release().
enum class SupervisorId : int {};
/// A run's directory in which the host looks for the file `started`.
enum class WatchId : int {};

/// Where processes of a run can be found that outlive its supervisor: in its control group or, if
/// it has none, among the processes of its user, by their environment. Any process can claim to be
/// of a run in its environment, so those of other users never count.
struct RunRemains {
  std::string directory;  // the run's
  RunId id;
  uid_t user = 0;
  CgroupPlaces cgroups;
  std::string cgroup;
};

struct HostEvents {
  bool timer = false;
  std::vector<SupervisorId> ended;
  std::vector<WatchId> written;  // `started` was written there
};

class RunHost {
 public:
  virtual ~RunHost() = default;

  [[nodiscard]] virtual Expected<Account> account_of(const Identity& owner) = 0;

  /// Holds a port for a run's MASTER_PORT, for as long as the descriptor or a copy of it is open.
  [[nodiscard]] virtual Expected<HeldPort> hold_port(JobNumber job) = 0;

  /// Starts the supervisor of the run in `directory`, which inherits `claims`.
  virtual Expected<SupervisorId> spawn(const std::string& directory,
                                       std::vector<Descriptor> claims) = 0;
  /// Finds the supervisor that holds the run's lock and watches it; none if it has ended.
  virtual Expected<std::optional<SupervisorId>> find(const std::string& directory) = 0;
  /// True if find() would find one.
  virtual Expected<bool> lives(const std::string& directory) = 0;
  virtual void signal(SupervisorId supervisor, int number) = 0;
  /// True if a process lives that the supervisor has started, or that it inherited from one.
  virtual bool has_processes(SupervisorId supervisor) = 0;
  /// Stops watching the supervisor, which need not have ended.
  virtual void release(SupervisorId supervisor) = 0;
  /// Kills the remaining processes of a run without a supervisor. Returns true if none is left.
  virtual bool clear(const RunRemains& remains) = 0;

  virtual std::optional<WatchId> watch(const std::string& directory) = 0;
  virtual void unwatch(WatchId watch) = 0;
  /// Reports HostEvents::timer once, after this time; 0 cancels it.
  virtual void set_timer(Duration time) = 0;
  /// Makes the descriptor readable until take_events().
  virtual void wake() = 0;
  [[nodiscard]] virtual int descriptor() const = 0;
  [[nodiscard]] virtual HostEvents take_events() = 0;
};

}  // namespace trainyard
