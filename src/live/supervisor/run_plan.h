// What passes between the engine and a run's supervisor, as files in the run's directory. Only the
// daemon's user may open them (0600): who could open the lock could take it, and pass for the
// supervisor.
//
//   run.json   what to run, with the user's environment; written before the supervisor is started
//   started    made by whoever comes first: the supervisor before it starts a worker, or a daemon
//              that finds it missing after a restart and thereby makes sure that no worker ever
//              starts. Blank until all workers run, then the time.
//   lock       held by the supervisor as long as it lives (fcntl: the kernel tells whose it is)
//   stop       the job is asked to leave, and how; the job's own processes may look whether
//              it exists
//   exit.json  how it ended, when nothing of it is left
//   out.W.N    what worker W wrote, see log_segments.h
//   job/       the job's own: report.json; saved, where a job that leaves says what it saved
//              (job/job_word.h); requeue, if it is to be run again: empty, when it has
//              ended by itself, else it is ended for that
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/resources.h"
#include "base/time.h"
#include "live/job/job_array.h"
#include "live/job/job_word.h"
#include "live/supervisor/cgroup.h"
#include "live/supervisor/log_segments.h"
#include "live/system/user_files.h"

namespace trainyard {

/// How a run is to be stopped, as of the time that it is asked; see the stop sequence in engine.h.
struct StopOrder {
  int signal = 0;  // 0: SIGTERM does
  bool leader_only = false;
  Duration grace, kill_wait;

  bool operator==(const StopOrder&) const = default;
};

struct RunPlan {
  std::int64_t job = 0;
  std::uint32_t run = 0;
  std::string name;
  std::string state;  // the state directory, absolute
  /// Below it, the folders of the run's directory and of the job's checkpoints. Plans of older
  /// daemons have none, and mean these.
  std::string runs = "runs", checkpoints = "checkpoints";
  std::string host;

  uid_t uid = 0;
  gid_t gid = 0;
  std::vector<gid_t> groups;  // all of the user's: only who can look users up knows them
  std::string user, home, shell;

  std::vector<std::string> command;
  bool has_script = false;  // the file `script` is run, with `command` as its arguments
  std::string directory;
  std::string output, error;  // patterns of files; empty: the pipe, where the output goes
  bool append = false;        // else the files begin anew
  std::map<std::string, std::string> environment;

  bool runs_once = false;      // the script runs once, with all GPUs, and starts the workers
  bool gpus_per_task = false;  // each of which then sees its own only

  Resources per_worker;
  std::vector<std::vector<std::int32_t>> gpus;  // by rank: the driver's numbers
  /// By rank, which GPUs these are (gpu_name() in cluster.h). Empty in plans of older daemons.
  std::vector<std::vector<std::string>> gpu_names;
  bool hides_gpus = false;  // they are stand-ins, and the machine's own GPUs are not the job's
  int master_port = 0;      // held by the supervisor until the run's end (system/held_port.h)
  std::uint32_t restarts = 0;
  ArrayTask task;  // of an array, if it is
  StopOrder stop;  // what the job declared: how it is stopped if the file `stop` cannot be written
  std::int64_t processes = 0;       // its group may have, threads included; 0: no limit
  std::int64_t user_processes = 0;  // ... and by RLIMIT_NPROC its user; 0: as the daemon
  std::vector<DeviceRange> denied_devices;
  std::int64_t output_limit = kMostOutput;  // bytes that are kept of each worker's output
  Duration ask_after;  // its signal comes so long after the start by itself; 0: only when stopped
  CgroupPlaces cgroups;
  std::string cgroup;  // the name of its group in each of them

  bool operator==(const RunPlan&) const = default;
};

/// How a run ended.
struct RunEnd {
  enum class Kind : std::uint8_t {
    exited,
    refused,  // it could not be started, by a fault of the job
    lost      // the machine went down under it
  };
  Kind kind = Kind::exited;
  int status = 0;
  bool asked_requeue = false;
  Time at{};           // by the wall clock
  Time steady{};       // the same by the clock that nobody sets,
  std::string boot{};  // ... since this start of the machine
  Duration ran{};      // since all workers ran, by the same clock
  std::string why{};
  bool was_killed = false;  // it was asked to leave, and did not within its grace
  JobWord word{};           // what the job itself said about saving

  bool operator==(const RunEnd&) const = default;
};

std::string run_directory(const RunPlan& plan);
/// What is the user's: job/ of a run's directory, and the checkpoints of a job.
UserDirectory job_directory(const std::string& run_directory);
UserDirectory checkpoint_directory(const RunPlan& plan);

std::string to_json(const RunPlan& plan);
std::string to_json(const StopOrder& order);
std::string to_json(const RunEnd& end);
Expected<RunPlan> parse_run_plan(std::string_view text);
Expected<StopOrder> parse_stop_order(std::string_view text);
Expected<RunEnd> parse_run_end(std::string_view text);

/// Now, by the clock that a machine's users see.
Time wall_clock_now();

}  // namespace trainyard
