// One run of a simulated daemon, from a seed: the same seed is the same run, to the byte. A step is
// something that clients, time, machines, jobs, operators, the disk or the clock do; after each the
// audit (audit.h) looks. At the end all faults are healed, and everything has to come to its end.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "audit.h"
#include "clients.h"
#include "journal_troubles.h"
#include "machine.h"
#include "written.h"

namespace trainyard {

struct SimulationResult {
  std::string wrong;  // empty: all held
  std::uint64_t steps = 0, daemons = 0, deaths = 0, jobs = 0, disk_acts = 0;
  std::uint64_t digest = 0;  // of what was shown and what was written
};

class DaemonSimulation {
 public:
  /// `tell`: every step is printed.
  DaemonSimulation(std::uint64_t seed, bool tell);
  ~DaemonSimulation();

  SimulationResult run();

 private:
  void step();
  void come_up();
  void finish();
  void see_erased();
  void choose_keeping();
  void jump_clock();
  void trouble_the_disk();
  void mix_machines();
  void trouble_machines();
  void trouble_gpus();
  void restore_gpus();
  [[nodiscard]] std::vector<std::string> new_gpus(std::int32_t count);
  void trouble_the_journal();
  void cancel_strays();
  void cancel_misfits();
  void trouble_supervisors();
  void change_machine();
  void bear_job();
  [[nodiscard]] MemoryScript script_of(const Launch& launch) const;
  [[nodiscard]] SimulatedRun process_of(RunId id) const;
  void check(bool in_full);
  void say(const std::string& what);
  void tell_state();

  std::uint64_t seed_;
  bool tell_;
  Random lots_;
  Cluster cluster_;
  Cluster original_;  // as many GPUs as each machine had at first
  /// That a machine has had, by name: jobs were accepted for them.
  std::map<std::string, std::int32_t> most_gpus_;
  std::uint64_t made_gpus_ = 0;
  bool has_changed_gpus_ = false;
  SchedulingOptions options_;
  std::unique_ptr<SimulatedMachine> machine_;
  std::unique_ptr<Clients> clients_;
  std::unique_ptr<Audit> audit_;
  std::unique_ptr<JournalTroubles> journal_;
  std::unique_ptr<WrittenAudit> written_;
  std::uint64_t step_ = 0, born_ = 0;
  std::string wrong_;
};

}  // namespace trainyard
