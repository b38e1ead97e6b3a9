// The machines: whether they take jobs, as operators and the engine say, and what becomes of the
// yard when the engine has other machines than before.
//
// A GPU is known by its name, whatever its number is (gpu_name() in cluster.h). One that is gone
// while a run holds it stays in the yard, behind the others, until nothing of the run is left: the
// rest of the run is stopped, and the GPUs of it that there still are belong to it until then. All
// other runs go on, wherever numbers have moved.
//
// Of a machine that is down the yard is told that it is closed: what was on it, and the rest of a
// gang elsewhere, holds its GPUs until the engine says that nothing is left of the run.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "live/loop/gate.h"
#include "live/loop/live_state.h"
#include "live/loop/runs.h"

namespace trainyard {

class Machines {
 public:
  Machines(LiveState& state, Gate& gate, Runs& runs) : state_(state), gate_(gate), runs_(runs) {}

  void hear(const MachineReport& report);
  /// The engine's cluster is another.
  void hear(const ClusterReport& report);
  /// By an operator.
  void open_or_close(const std::string& machine, bool open);
  /// Carries out what had to wait until jobs had left.
  void settle();

  /// After a restart: jobs are where they were, by the names of machines and GPUs.
  Expected<void> recall();
  /// Begins the yard with all jobs that fit. Where they cannot be where the journal has them, their
  /// runs have to end first.
  Expected<void> begin_yard();
  /// All that hold GPUs are held until their runs have ended; rooms that are being made are given
  /// up.
  void leave_all();
  /// Machines, but for these, that an operator has closed.
  void recall_closed(const std::set<std::string>& known = {});

  [[nodiscard]] MachineView view(MachineId machine) const;

  /// The cluster without GPUs that are gone, which are kept in state.cluster until their jobs have
  /// left.
  [[nodiscard]] const Cluster& coming() const { return next_ ? *next_ : *state_.cluster; }

 private:
  [[nodiscard]] static std::string reason(const MachineStatus& status);
  void take_over_cluster();
  [[nodiscard]] bool is_in_use(MachineId machine) const;
  /// True when a machine is not what the engine's is.
  bool keep_what_is_in_use(Cluster& next);
  void keep_gone_gpus(Cluster& next);
  [[nodiscard]] bool has_left() const;
  void break_up_where_gpus_are_gone();
  void move_jobs(const std::vector<std::string>& before, const Cluster& next);
  void give_up_rooms();
  void leave_overfull_machines();
  [[nodiscard]] Resources held_by_worker(const JobRecord& job, std::size_t share) const;
  void leave(JobNumber job);
  void hold_what_does_not_fit();
  void admit_what_fits();

  LiveState& state_;
  Gate& gate_;
  Runs& runs_;
  std::optional<Cluster> next_;  // the engine's, while it is not taken over wholly
  std::map<std::string, std::set<std::string>> gone_;  // GPUs that it does not have, by machine
};

}  // namespace trainyard
