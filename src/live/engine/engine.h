// Who carries orders out: starts, stops and watches real processes. The local engine does it on
// this machine; another may do it through a cluster's own manager. Called by one thread.
//
// A job runs once or more; each time is a Run with a number of its own, and a run is started at
// most once, whatever happens to the daemon: the journal holds the intent before start() is called,
// and adopt() tells after a restart what became of it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/resources.h"
#include "base/time.h"
#include "live/job/identity.h"
#include "live/job/job_array.h"
#include "live/job/job_spec.h"
#include "live/job/progress.h"
#include "model/cluster.h"

namespace trainyard {

struct RunId {
  JobNumber job = 0;
  std::uint32_t run = 0;  // 1 for the first start of the job

  auto operator<=>(const RunId&) const = default;
};

/// A worker's place: a machine of the engine's cluster, and its GPUs there by number.
struct WorkerPlace {
  MachineId machine{0};
  std::vector<std::int32_t> gpus;
};

struct Launch {
  RunId id;
  Identity owner;
  const JobSpec* spec = nullptr;     // valid during the call
  Resources per_worker;              // with defaults filled in: limits that hold
  std::vector<WorkerPlace> workers;  // by rank
  std::uint32_t restarts = 0;        // how often it was paused or moved before
  ArrayTask task;                    // its place in an array, if it is of one
};

/// The stop sequence: SIGCONT; the declared signal, if any, and wait for the grace; SIGTERM, and
/// wait (for the grace if no signal was declared, else for kill_wait); SIGKILL.
struct Stop {
  RunId id;
  StopSignal signal;
  Duration grace;
  Duration kill_wait = seconds(30);
};

/// What the engine has seen.
struct RunReport {
  enum class Kind : std::uint8_t {
    started,   // its processes run
    exited,    // all of them have ended, and nothing of them is left
    lost,      // its supervisor or machine is gone, and with it the run; it may be run again
    refused,   // it could not be started, by a fault of the job: `why`
    progress,  // it told of itself
  };
  Kind kind{};
  RunId id;
  Time at;              // by the wall clock
  int exit_status = 0;  // as a shell has it: 0 to 255, 128 + n by signal n; of the first worker
                        // that did not end with 0
  bool asked_requeue = false;  // the job itself asked to be run again
  std::string why;             // for people: "killed by signal 9", "out of memory"
  JobProgress progress;
};

class Engine {
 public:
  virtual ~Engine() = default;

  [[nodiscard]] virtual const Cluster& cluster() const = 0;
  /// For the person who starts the daemon: "8 GPUs (V100) on gpu7".
  [[nodiscard]] virtual std::string describe() const { return trainyard::describe(cluster()); }
  /// Which GPUs those of the cluster are: after a restart with others, numbers mean others too.
  [[nodiscard]] virtual std::string gpu_names() const { return {}; }

  /// Begins a run. Its `started`, `refused` or `lost` comes as a report. A run that was begun
  /// before is not begun again.
  virtual Expected<void> start(const Launch& launch) = 0;
  /// Begins the stop sequence. Again, with a shorter grace: it is shortened. Of a run that has
  /// ended: nothing.
  virtual Expected<void> stop(const Stop& stop) = 0;
  /// After the daemon's restart: a run that the journal says was to be started. If it was not, it
  /// never will be. Reports follow for it: `started` again if it runs, or how it ended, or `lost`.
  virtual Expected<void> adopt(RunId id) = 0;
  /// How it ended is recorded: what is kept for a restart of the daemon may go. The output stays.
  virtual void forget(RunId id) = 0;
  /// The job is over and old: its output may go too.
  virtual void erase(JobNumber job, std::uint32_t runs) = 0;

  /// Readable when poll() has something to say.
  [[nodiscard]] virtual int descriptor() const = 0;
  [[nodiscard]] virtual std::vector<RunReport> poll() = 0;

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
