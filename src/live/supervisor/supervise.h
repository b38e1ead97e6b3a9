// Stays beside one run of a job from its start to the end of its last process, whatever becomes of
// the daemon: starts the workers, keeps what they write, stops them when told, and records how the
// run ended. Files are all it shares with the engine (run_plan.h); SIGUSR1 says that `stop` is new.
//
// When a run is over:
//   asked to stop   when nothing is left of any worker: a shell that dies of SIGTERM while the
//                   program it started still saves does not end the grace; nor does one that dies
//                   of the signal that comes before the time limit
//   else            when the first process of every worker has ended; what they leave is killed
//   a worker fails  the gang cannot go on: the others are stopped with a short grace
//   it asks for it  as `scontrol requeue` does: it is stopped, to be run again
//
// A process cannot get out of sight: whatever loses its parent becomes a child of the supervisor.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "live/supervisor/cgroup.h"
#include "live/supervisor/log_segments.h"
#include "live/supervisor/login_limits.h"
#include "live/supervisor/run_plan.h"
#include "live/supervisor/stop_sequence.h"
#include "live/supervisor/worker.h"
#include "live/system/files.h"

namespace trainyard {

class Supervisor {
 public:
  Supervisor(std::string directory, RunPlan plan);

  /// The whole run, from the first worker's start on. `started` is told when all workers run.
  RunEnd run(Descriptor started);

 private:
  struct Worker {
    pid_t pid = 0;
    Descriptor output;
    LogWriter log;
    bool ended = false;
  };

  void listen_to_signals();
  /// Makes the run's group and finds out its user's limits. That it fails is no fault of the job.
  Expected<LoginLimits> confine();
  bool was_stopped();
  Expected<void> start_workers(const LoginLimits& login);
  void until_over();
  void wait_for_events();
  void on_signal();
  void read_stop_order();
  void look_for_requeue();
  void pump(Worker& worker);
  void reap();
  [[nodiscard]] bool only_unborn_left();
  void on_worker_end(std::size_t rank, int status);
  void take_stop_steps();
  void ask() const;
  void signal_steps(int number) const;
  void signal_workers(int number, bool leader_only) const;
  void kill_all();
  [[nodiscard]] Time next_wake() const;
  [[nodiscard]] RunEnd end_of_run() const;

  std::string directory_;
  UserDirectory own_files_;  // the job's
  RunPlan plan_;
  RunCgroup cgroup_;
  Descriptor events_, signals_;
  Time next_look_;  // for the file by which the job asks to be run again
  std::vector<Worker> workers_;
  std::size_t workers_left_ = 0;
  std::optional<UnbornWorker> unborn_;
  Time unborn_since_ = Time::never();
  bool children_left_ = true;
  bool killing_ = false;         // everything, until nothing is left
  Duration kill_again_;          // after which time those that still live are killed again
  bool going_down_ = false;      // not the job is stopped but the machine
  bool was_killed_ = false;      // it did not leave within its grace
  bool died_of_asking_ = false;  // a worker's first process did, and what it started may save
  StopSequence stop_;
  int status_ = 0;  // of the first worker that failed
  std::string why_;
};

}  // namespace trainyard
