// A cluster that is in memory only, in which jobs do what a script says, by a clock that is its
// user's: nothing here waits, and the same calls at the same times have the same results. It
// outlives the engines on it (memory_engine.h), as machines and their processes outlive a daemon.
//
// What was to happen by now happens when somebody looks, in the order of its times and then of run
// numbers. Calls may come from several threads; each holds a lock.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "live/engine/engine.h"
#include "live/system/system.h"

namespace trainyard {

/// What a job does whenever it is run.
struct MemoryScript {
  Duration start_takes{};
  std::string start_fails{};           // not empty: it is lost then, for this reason,
  std::string refused{};               // ... or refused for this one
  std::optional<Duration> runs_for{};  // none: until it is stopped
  int exit_status = 0;
  bool asks_requeue = false;
  std::string output{};  // of every worker, when it starts
  std::string saves{};   // added to the job's checkpoints when it starts, and when it ends
  std::optional<JobProgress> tells{};  // its first progress, and then a step more each time:
  Duration tells_after{};              // so long after a run began,
  Duration tells_every{};              // ... and every so long; 0: once in a run
  std::optional<Duration> leaves_after = Duration{};  // being told to; none: it has to be killed
  int exit_when_told = 128 + 15;
  std::optional<Duration> breaks_after{};  // a worker is gone then, and the others hang
};

class MemoryWorld {
 public:
  /// `clock` tells the time (wall_clock), and must outlive it.
  MemoryWorld(const System& clock, Cluster cluster);
  ~MemoryWorld();
  MemoryWorld(const MemoryWorld&) = delete;
  MemoryWorld& operator=(const MemoryWorld&) = delete;

  // --- What its user decides -------------------------------------------------------------------
  void set_script(JobNumber job, MemoryScript script);
  /// Of every run that has no script of its own.
  void set_scripts(std::function<MemoryScript(const Launch&)> scripts);
  /// From now on GPUs are chosen here, the highest that are free, whatever the orders say.
  void choose_gpus();
  /// Workers on a machine that goes down are gone.
  void set_machine(const MachineReport& machine);
  /// Runs stay where they are, by the names of machines and GPUs; also on a GPU that is gone.
  void set_cluster(Cluster cluster);
  /// A job that somebody submitted here. One that has places runs as the script says.
  void bear(BirthReport birth, MemoryScript script = {});
  /// Its user does not want it any more, before it has run.
  void withdraw(const std::string& born_as);

  /// When something happens by itself next.
  [[nodiscard]] Time next() const;
  /// The clock has moved: whoever waits for the descriptor looks again.
  void wake() const;

  // --- What there is to see --------------------------------------------------------------------
  /// How many workers of it live.
  [[nodiscard]] std::size_t living(RunId id);
  /// Which GPUs it uses, of all its workers.
  [[nodiscard]] std::vector<WorkerPlace> places(RunId id);
  /// All runs that ever were begun here, by number.
  struct Seen {
    RunId id;
    bool lives = false;  // a process of it does
    bool has_run = false;
    bool was_told = false;  // to leave
    bool has_ended = false;
    RunReport end;  // then
    std::vector<WorkerPlace> places;
    std::vector<std::vector<std::string>> gpus;  // their names, by rank
    bool has_lost_gpu = false;  // one of them was gone at a time, be it that it has come back
    std::vector<Resources> grants = {};  // of each worker; empty: not started by an engine
    Time began_to_run;
    bool is_known = false;            // to the present engine
    std::string output;               // of each worker, that is still there
    Time first_told = Time::never();  // its first progress
    Time told_to_leave = Time::never();
  };
  [[nodiscard]] std::vector<Seen> runs();
  [[nodiscard]] Cluster cluster() const;
  /// What jobs have saved, and is still there.
  [[nodiscard]] std::map<JobNumber, std::string> checkpoints();
  /// All that an engine was told to erase, in order, and found.
  struct Erasure {
    JobNumber job = 0;
    bool is_checkpoints = false;
    Time at;
  };
  [[nodiscard]] std::vector<Erasure> erasures() const;
  /// What must never be: two processes on a GPU, a run on a machine that is down. A sentence each.
  [[nodiscard]] std::vector<std::string> faults() const;

 private:
  friend class MemoryEngine;

  struct Run {
    enum class State : std::uint8_t { fenced, starting, running, ended };
    State state{};
    std::vector<WorkerPlace> places;             // without GPUs that are gone
    std::vector<std::vector<std::string>> gpus;  // by rank: which these are
    bool has_lost_gpu = false;
    bool has_chosen = false;  // the engine chooses GPUs, and has chosen these
    std::vector<Resources> grants;
    std::vector<bool> lives;  // by rank
    MemoryScript script;
    Time begun, began_to_run;
    Time leaves = Time::never(), is_killed = Time::never();  // once it was told to stop
    Time tells = Time::never();                              // its next progress
    Time first_told = Time::never(), told_to_leave = Time::never();
    bool is_broken = false;  // a part of it is gone, and the rest hangs
    bool is_heard = false;   // by the present engine
    bool has_run = false, is_forgotten = false;
    std::int64_t output_limit = std::numeric_limits<std::int64_t>::max();
    std::string output;
    bool has_output = false;  // be it empty
    RunReport end;
    Time due = Time::never();  // as it stands in due_
    Identity owner;
  };
  struct Birth {
    BirthReport report;
    std::vector<std::vector<std::string>> gpus;  // by rank
    MemoryScript script;
    Time at;
    JobNumber job = 0;  // 0: it has not been called yet
    bool is_over = false;
    bool is_withdrawn = false;
    std::optional<RunId> stray{};  // the run that it is, of a job that the daemon has lost
  };

  // For the engine; each with the lock held.
  void attach();
  [[nodiscard]] std::map<JobNumber, Engine::Trace> traces() const;
  Expected<void> start(const Launch& launch);
  void stop(const Stop& stop);
  void adopt(RunId id);
  void call(const std::string& born_as, JobNumber job);
  void forget(RunId id);
  void erase_output(JobNumber job, std::uint32_t runs);
  void erase_checkpoints(JobNumber job);
  [[nodiscard]] std::vector<EngineReport> take_reports();
  [[nodiscard]] Expected<Engine::Output> output(RunId id, std::int32_t worker, std::uint64_t offset,
                                                std::size_t limit) const;

  void report_strays();
  void call_stray(RunId stray, JobNumber job);
  void catch_up();
  [[nodiscard]] static Time next_of(const Run& run);
  /// After every change of it.
  void reckon(RunId id, Run& run);
  void happen(RunId id, Run& run, Time at);
  void say_broken(RunId id, const Run& run, Time at);
  void begin_to_run(RunId id, Run& run, Time at);
  void begin_to_write(RunId id, Run& run);
  void tell_progress(RunId id, Run& run, Time at);
  void end(RunId id, Run& run, RunReport::Kind kind, Time at, int status, const std::string& why);
  void choose(Run& run);
  void check_places(RunId id, const Run& run);
  [[nodiscard]] std::vector<std::vector<std::string>> gpus_of(
      const std::vector<WorkerPlace>& places) const;
  void renumber(std::vector<WorkerPlace>& places, const std::vector<std::vector<std::string>>& gpus,
                const Cluster& next) const;
  [[nodiscard]] std::string name_of(MachineId machine) const;
  [[nodiscard]] bool is_down(MachineId machine) const;
  [[nodiscard]] bool is_used_beside(const Run& ours, MachineId machine, std::int32_t gpu) const;
  void say_withdrawn(const Birth& birth);
  void say(const Run& run, RunReport report);
  void say(EngineReport report);

  const System& clock_;
  mutable std::mutex mutex_;
  Cluster cluster_;
  std::map<std::string, MachineReport> machines_;  // those that are not up
  std::map<JobNumber, MemoryScript> scripts_;
  std::function<MemoryScript(const Launch&)> other_scripts_;
  std::map<RunId, Run> runs_;
  std::set<std::pair<Time, RunId>> due_;  // what happens by itself to those that have not ended
  std::map<std::string, Birth> births_;
  std::map<JobNumber, std::string> checkpoints_;
  std::map<JobNumber, std::int64_t> steps_;  // that jobs have told
  std::vector<Erasure> erasures_;
  std::vector<EngineReport> reports_;
  std::vector<std::string> faults_;
  bool chooses_gpus_ = false;
  bool has_looked_for_strays_ = false;  // for the present engine
  int wake_ = -1;                       // an eventfd
};

}  // namespace trainyard
