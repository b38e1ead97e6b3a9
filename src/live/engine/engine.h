// What carries orders out: starts, stops and watches the processes of jobs. The local engine does
// it on this machine, the one of Slurm (slurm/) has a cluster do it, the one in memory (memory/)
// pretends to. One thread calls it, but for output() and cgroups_of(), which any may call. What
// each must do is tested (engine_contract_test.cpp), and docs/extending.md shows how a small one
// does it:
//
//  1. A job runs once or more; each time is a Run with a number of its own, and a run is started at
//     most once, whatever happens to the daemon: the journal holds the intent before start() is
//     called, and adopt() tells after a restart what became of it.
//  2. One end is reported of every run that was begun or adopted (`exited`, `lost` or `refused`),
//     and only when nothing of it is left that could use its GPUs. They are held until then,
//     however long it takes to start or to stop.
//  3. Machines, and jobs that were not submitted to us, are reported too: after open() all that is
//     not as cluster() says, later each change.
//  4. The end of a run comes before, or at once with, the start of another on its GPUs.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/error.h"
#include "base/resources.h"
#include "base/time.h"
#include "live/job/identity.h"
#include "live/job/job_array.h"
#include "live/job/job_spec.h"
#include "live/job/job_word.h"
#include "live/job/progress.h"
#include "model/cluster.h"
#include "model/flow_class.h"

namespace trainyard {

struct RunId {
  JobNumber job = 0;
  std::uint32_t run = 0;  // 1 for the first start of the job

  auto operator<=>(const RunId&) const = default;
};

/// A worker's place: a machine of the engine's cluster, and its GPUs there by number. Numbers are
/// of one cluster; a GPU is known over changes and restarts by its name (gpu_name() in cluster.h).
struct WorkerPlace {
  MachineId machine{0};
  std::vector<std::int32_t> gpus;

  bool operator==(const WorkerPlace&) const = default;
};

struct Launch {
  RunId id;
  Identity owner;
  const JobSpec* spec = nullptr;          // valid during the call
  Resources per_worker;                   // the least that any of them has of its machine
  std::vector<WorkerPlace> workers = {};  // by rank, on the cluster that was last reported
  std::vector<Resources> grants = {};     // what each of them has: the share of its own machine
  std::uint32_t restarts = 0;             // how often it was paused or moved before
  ArrayTask task;                         // its place in an array, if it is of one
  /// Bytes that are to be kept of each worker's output at most, where the engine keeps it.
  std::int64_t output_limit = std::numeric_limits<std::int64_t>::max();
  std::string born_as;  // the engine's own name of a job that it reported
};

/// The stop sequence: SIGCONT; the declared signal, if any, and wait for the grace; SIGTERM, and
/// wait (for the grace if no signal was declared, else for kill_wait); SIGKILL.
struct Stop {
  RunId id;
  StopSignal signal;
  Duration grace;
  Duration kill_wait = seconds(30);
};

/// What the engine has seen of a run.
struct RunReport {
  enum class Kind : std::uint8_t {
    started,  // its processes run; `places` says where, if the engine chose the GPUs itself
    exited,   // all of them have ended, and nothing of them is left
    lost,     // it could not be started, or is gone with its supervisor or machine, and nothing of
              // it is left; by no fault of the job, which may be run again
    refused,  // it could not be started, by a fault of the job: `why`
    broken,   // a part of it is gone, and the rest may live on: it is to be stopped, and then
              // reported as lost or exited
    withdrawn,  // its job, which was born there, is not to be run any more: its user says so;
                // said again after every call() for it, until forget()
    progress,   // it told of itself
    noted,      // something that people should know happened to it, and that changes nothing: `why`
  };
  Kind kind{};
  RunId id;
  Time at;                        // by the wall clock, which may have been set since
  std::optional<Time> steady{};   // the same by System::steady_clock(), where that is known
  std::optional<Duration> ran{};  // of `exited`: what passed since `started`, where that is known
  int exit_status = 0;  // as a shell has it: 0 to 255, 128 + n by signal n; of the first worker
                        // that did not end with 0
  bool asked_requeue = false;  // the job itself asked to be run again
  std::string why;             // for people: "killed by signal 9", "out of memory"
  JobProgress progress;
  std::vector<WorkerPlace> places;  // on the machines that were ordered; empty: as ordered
  bool was_killed = false;          // it was told to stop, and had to be killed
  JobWord word{};                   // what the job said about saving, before it left
  std::int64_t output_bytes = 0;    // of an end: what is kept of the run's output
};

constexpr bool is_end(RunReport::Kind kind) {
  using Kind = RunReport::Kind;
  return kind == Kind::exited || kind == Kind::lost || kind == Kind::refused;
}

/// A machine of the cluster, by its name, is not what it was. Its runs are reported apart from it:
/// those that are gone with it wholly as lost, and those of which a part is left when they were
/// stopped.
struct MachineReport {
  enum class State : std::uint8_t {
    up,
    closed,  // starts nothing new; what runs there goes on
    down,    // nothing runs there any more, as far as the engine can tell
  };
  std::string machine;
  State state{};
  std::string why;  // for people: "not responding"

  bool operator==(const MachineReport&) const = default;
};

/// cluster() is another than it was: there are new machines, or some have other GPUs or capacities.
/// Machines and GPUs are known by their names. One that is gone for good stays, and is down. Ids in
/// reports are of the cluster as it was when they were made. A cluster that cannot be
/// (check_cluster.h) is not taken over.
struct ClusterReport {};

/// A job that was not submitted to us. It is reported until call() has said what we call it, and
/// again after a restart, always under the same name, which no other job ever has, in UTF-8. What
/// users wrote may be in it as it is: a job that cannot be read fails, and says why.
struct BirthReport {
  std::string name;
  Identity owner;
  JobSpec spec;
  /// It runs there already, or is about to, outside of our control: nobody else gets these GPUs
  /// until its end is reported (as run 1), and it gets no others. Empty: it waits to be scheduled
  /// like any other.
  std::vector<WorkerPlace> places;
};

using EngineReport = std::variant<RunReport, MachineReport, ClusterReport, BirthReport>;

class Engine {
 public:
  virtual ~Engine() = default;

  [[nodiscard]] virtual const Cluster& cluster() const = 0;
  /// For the person who starts the daemon: "8 GPUs (V100) on gpu7".
  [[nodiscard]] virtual std::string describe() const { return trainyard::describe(cluster()); }
  /// Whether it ends jobs that have used up their time, and says so, by itself.
  [[nodiscard]] virtual bool keeps_time_limits() const { return false; }
  /// Bytes that it keeps of a worker's output at most, on the disk whose use is bounded for each
  /// user; 0: none there.
  [[nodiscard]] virtual std::int64_t keeps_output() const { return 0; }
  /// Whether it can put one job's bytes before another's by itself. If not, agents on machines may;
  /// without either, flow stages are idle.
  [[nodiscard]] virtual FlowClasses flow_classes() const { return FlowClasses::ignored; }
  /// The control groups in which a run's processes may be on a machine, as names below where cgroup
  /// v2 is mounted. `born_as` is the engine's own name of a job that it reported. Any thread may
  /// call it.
  [[nodiscard]] virtual std::vector<std::string> cgroups_of(RunId /*id*/,
                                                            const std::string& /*machine*/,
                                                            const std::string& /*born_as*/) const {
    return {};
  }

  /// Jobs that something is kept of from earlier: the highest run of each, and where it lives if it
  /// does. The journal should know them all; if it was lost, this is what is left of them. Runs
  /// that live and are not adopted are then reported as births.
  struct Trace {
    std::uint32_t last_run = 0;       // 0: of no run
    std::vector<WorkerPlace> places;  // of the one that lives; empty: none does
  };
  [[nodiscard]] virtual std::map<JobNumber, Trace> traces() const { return {}; }

  /// Begins a run. Its `started`, `refused` or `lost` comes as a report, be it after minutes. An
  /// error: nothing was begun, and nothing is reported. A run that was begun before is not begun
  /// again: that is an error.
  virtual Expected<void> start(const Launch& launch) = 0;
  /// Begins the stop sequence. Again, with a shorter grace: it is shortened. Of a run that has
  /// ended: nothing.
  virtual Expected<void> stop(const Stop& stop) = 0;
  /// After the daemon's restart: a run that the journal says was to be started. If it was not, it
  /// never will be. Reports follow for it: `started` again if it runs, or how it ended, or `lost`.
  /// If it had been told to leave, stop() is called again before the first poll(), and what is
  /// reported is the end of a run that was stopped, even if it left while no daemon was there.
  virtual Expected<void> adopt(RunId id) = 0;
  /// The job that was reported under this name is recorded as this one. Said again after a restart,
  /// before any of its runs is adopted.
  virtual void call(const std::string& /*born_as*/, JobNumber /*job*/) {}
  /// How it ended is recorded: what is kept for a restart of the daemon may go. The output stays.
  /// Of a job that was born there, and has ended without this run: it is not to run there either.
  virtual void forget(RunId id) = 0;
  /// The job has ended, and none of its runs will follow: what waits there for one may go.
  virtual void end(JobNumber /*job*/) {}
  /// Erases the output of the job's runs 1 to `runs`, and nothing else. On an error some of it may
  /// be left; what is gone already is no error.
  virtual Expected<void> erase_output(JobNumber job, std::uint32_t runs) = 0;
  /// Erases the checkpoints of the job: the work of its user. No other call does.
  virtual Expected<void> erase_checkpoints(JobNumber job) = 0;

  /// Readable when poll() has something to say.
  [[nodiscard]] virtual int descriptor() const = 0;
  [[nodiscard]] virtual std::vector<EngineReport> poll() = 0;

  /// The output of a worker from byte `offset` on (of all that it ever wrote), `limit` at most.
  /// What is no longer kept is skipped: `offset` is where the text really begins.
  struct Output {
    std::uint64_t offset = 0;
    std::string text;
  };
  [[nodiscard]] virtual Expected<Output> output(RunId id, std::int32_t worker, std::uint64_t offset,
                                                std::size_t limit) const = 0;
};

}  // namespace trainyard
