// Supervisors and processes of a machine, simulated: jobs do what a script says by a clock that is
// its user's, and supervisors write the same files in the run's directory as real ones do, through
// the same functions (supervisor/run_files.h). It outlives the engines on it (simulated_host.h), as
// processes outlive a daemon.
//
// What was to happen by now happens when somebody looks, in the order of its times. One thread.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/random.h"
#include "live/engine/memory/memory_world.h"
#include "live/supervisor/log_segments.h"
#include "live/supervisor/run_files.h"
#include "live/supervisor/stop_sequence.h"
#include "live/system/system.h"

namespace trainyard {

/// What goes wrong with a run's supervisor.
enum class SupervisorFault : std::uint8_t {
  none,
  dies_before_it_begins,
  dies_before_workers,  // the run is begun, and nothing runs
  dies_beside_workers,  // they outlive it until they are killed, more than once
  dies_before_end,      // they are gone, and what it writes of that is half written
  hangs_before_workers,
  hangs_beside_workers,  // it hears nothing but SIGKILL
  hangs_before_end,      // they are gone, and it does not end
  cannot_be_killed,      // the same, and SIGKILL does not end it either
};
constexpr std::uint64_t kSupervisorFaults = 9;

/// What a user puts in the place of a file that others read.
enum class FileTrap : std::uint8_t { none, fifo, link, second_name, directory, huge };
constexpr std::uint64_t kFileTraps = 6;

struct SimulatedRun {
  MemoryScript script;
  SupervisorFault fault = SupervisorFault::none;
  FileTrap trap = FileTrap::none;
};

class SimulatedWorld {
 public:
  /// `clock` must outlive it; its steady clock is the time here.
  explicit SimulatedWorld(const System& clock) : clock_(clock) {}

  void set_script(JobNumber job, MemoryScript script);
  /// Of every run that has no script of its own.
  void set_runs(std::function<SimulatedRun(RunId)> runs) { other_runs_ = std::move(runs); }

  /// When something happens by itself next.
  [[nodiscard]] Time next() const;
  /// All that was to happen by now does.
  void catch_up();

  // --- What goes wrong -----------------------------------------------------------------------
  /// As kill -9 of a supervisor that lives, by lot. False: none does.
  bool kill_one(Random& lots);
  /// The machine is off and on again. Files of runs that the daemon has not forgotten may be cut
  /// or gone.
  void lose_power(Random& lots);
  /// The state directory is a copy from now on: what runs belongs to the original.
  void leave_behind();

  // --- What there is to see --------------------------------------------------------------------
  /// How many workers of it live.
  [[nodiscard]] std::size_t living(RunId id);
  [[nodiscard]] std::vector<MemoryWorld::Seen> runs();
  /// What must never be: two processes on a GPU, two runs with one MASTER_PORT. A sentence each.
  [[nodiscard]] const std::vector<std::string>& faults() const { return faults_; }
  /// What every worker of a run has written, as long as none of it may be gone.
  [[nodiscard]] const std::map<RunId, std::string>& written() const { return written_; }
  /// What jobs have saved as checkpoints, the same.
  struct Saved {
    std::string path, text;
  };
  [[nodiscard]] const std::map<JobNumber, Saved>& saved() const { return saved_; }

 private:
  friend class SimulatedHost;

  using Number = int;  // of a supervisor, from 1 on
  struct Supervisor {
    enum class State : std::uint8_t { spawned, begun, running, over };
    Number number = 0;
    RunId id;
    std::string directory;
    SimulatedRun what;
    State state = State::spawned;
    bool lives = true, is_hung = false, is_left_behind = false;
    std::size_t workers = 0;  // that live
    int port = 0;             // that is held while it lives
    int clears = 2;           // how often what is left has to be killed
    bool has_order = false;   // that it has not read
    BegunRun files;
    RunPlan plan;
    StopSequence stop;
    Time spawned, began_to_run, leaves = Time::never(), due = Time::never();
    bool has_run = false;
    RunReport end;
  };

  // For the host.
  [[nodiscard]] int free_port(JobNumber job) const;
  Number spawn(const std::string& directory);
  [[nodiscard]] Number find(const std::string& directory) const;  // 0: none
  void signal(Number number, int signal);
  [[nodiscard]] bool has_processes(Number number) const;
  bool clear(const std::string& directory);

  void happen(Supervisor& of, Time at);
  void begin(Supervisor& of, Time at);
  void start_workers(Supervisor& of, Time at);
  void write_what_jobs_write(Supervisor& of, Time at);
  void set_trap(const Supervisor& of, const std::string& name) const;
  void run_on(Supervisor& of, Time at);
  void read_order(Supervisor& of, Time at);
  void finish(Supervisor& of, Time at, int status, const std::string& why);
  void record(Supervisor& of, Time at, RunEnd end);
  void die(Supervisor& of, Time at);
  [[nodiscard]] Time next_of(const Supervisor& of) const;
  void check_places(const Supervisor& of);
  [[nodiscard]] Time wall(Time at) const {
    return at + (clock_.wall_clock() - clock_.steady_clock());
  }
  [[nodiscard]] SimulatedRun run_of(RunId id) const;

  const System& clock_;
  std::map<JobNumber, MemoryScript> scripts_;
  std::function<SimulatedRun(RunId)> other_runs_;
  std::map<Number, Supervisor> supervisors_;
  std::map<std::string, Number> by_directory_;  // the last of each
  std::map<RunId, std::string> written_;
  std::map<JobNumber, Saved> saved_;
  std::vector<std::string> faults_;
  // What the host has not heard yet.
  std::vector<Number> ended_;
  std::vector<std::string> started_;  // directories
};

}  // namespace trainyard
