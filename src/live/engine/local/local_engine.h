// Runs jobs on this machine. Every run has a supervisor (src/live/supervisor), a small process that
// outlives the daemon; they meet in the run's directory which run_places.h finds; its files are
// listed in supervisor/run_plan.h.
//
// - That a run has started is heard by inotify, that it has ended by its supervisor's pidfd: both
//   within a millisecond, and the same after a restart as before. Once a second all runs are looked
//   at for what their jobs tell of themselves, and for what was missed: all starts, where no
//   inotify instance can be had.
// - A supervisor that ended without exit.json was killed. Its workers die with it; what they had
//   started is found by control group, else by user and environment, killed, and only then is the
//   run `lost`.
//   One that is stuck is ended for that (watchdog.h). Only what was started under this state
//   directory is killed: in a copy of another one, runs that were going on are `lost` at once, and
//   what may run under the original is left alone.
// - The daemon's user runs everybody's jobs if it is root, else only its own.
//
// `output` may be called from any thread; all else from one.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "live/engine/engine.h"
#include "live/engine/local/gpu_claims.h"
#include "live/engine/local/launch.h"
#include "live/engine/local/report_file.h"
#include "live/engine/local/run_host.h"
#include "live/engine/local/run_places.h"
#include "live/engine/local/trash.h"
#include "live/engine/local/watchdog.h"
#include "live/supervisor/process_limits.h"
#include "live/system/system.h"

namespace trainyard {

struct LocalEngineOptions {
  std::string state;
  std::string supervisor = default_supervisor();
  bool use_cgroups = true;            // false: also where they could be used
  GpuClaims claims{};                 // none: `machine` has stand-ins
  bool has_slots = false;             // ... as many as its operator said
  bool hides_gpus = false;            // ... though there are GPUs, which jobs are not to see
  Duration stuck_after = minutes(1);  // see watchdog.h
  std::unique_ptr<RunHost> host{};    // none: the machine that this is
  GpuDevices gpu_devices = gpu_devices_of_this_machine();
  std::optional<ProcessBounds> process_bounds{};  // none: those of this machine
  /// Moves what older daemons have left where all users can look at it (run_places.h).
  bool is_private = false;
  std::string cgroup_top = "trainyard";  // the group above all runs of all daemons
};

class LocalEngine : public Engine {
 public:
  /// Makes what is missing of the state directory. `machine` is this one (machine.h).
  static Expected<std::unique_ptr<LocalEngine>> open(System& system, LocalEngineOptions options,
                                                     Cluster machine);
  /// Runs go on without it.
  ~LocalEngine() override;

  [[nodiscard]] const Cluster& cluster() const override { return cluster_; }
  [[nodiscard]] std::string describe() const override;
  [[nodiscard]] std::int64_t keeps_output() const override { return kMostOutput; }
  Expected<void> start(const Launch& launch) override;
  Expected<void> stop(const Stop& stop) override;
  Expected<void> adopt(RunId id) override;
  [[nodiscard]] std::map<JobNumber, Trace> traces() const override;
  void call(const std::string& born_as, JobNumber job) override;
  void forget(RunId id) override;
  Expected<void> erase_output(JobNumber job, std::uint32_t runs) override;
  Expected<void> erase_checkpoints(JobNumber job) override;
  [[nodiscard]] int descriptor() const override { return host_->descriptor(); }
  [[nodiscard]] std::vector<EngineReport> poll() override;
  [[nodiscard]] Expected<Output> output(RunId id, std::int32_t worker, std::uint64_t offset,
                                        std::size_t limit) const override;

  [[nodiscard]] std::vector<std::string> cgroups_of(RunId id, const std::string& machine,
                                                    const std::string& born_as) const override;

  /// Which limits hold here.
  [[nodiscard]] const CgroupPlaces& cgroups() const { return site_.cgroups; }
  /// Waits until what was erased is gone from the disk.
  void finish_erasing();

 private:
  struct Run {
    RunId id;
    std::string directory;
    // None: it is dead, and what it left is being killed.
    std::optional<SupervisorId> supervisor{};
    std::optional<WatchId> watch{};
    bool started = false;
    Watchdog watchdog;
    std::string lost_because = "its supervisor was killed";
    ReportFile report;
    uid_t user = 0;
    std::string cgroup;
    CgroupPlaces cgroups;
  };

  LocalEngine(System& system, LaunchSite site, std::unique_ptr<RunPlaces> places, Cluster machine,
              LocalEngineOptions& options);

  /// As the run calls itself: one that was found has got another number here.
  [[nodiscard]] RunId own_id(RunId id) const;
  [[nodiscard]] std::string directory_of(RunId id) const;
  [[nodiscard]] Trash& trash_of_runs() { return runs_trash_ ? *runs_trash_ : trash_; }
  void report_strays();
  Run make_run(RunId id, uid_t owner) const;
  [[nodiscard]] bool has_gpus(const Launch& launch) const;
  [[nodiscard]] Expected<std::vector<Descriptor>> claims_of(const Launch& launch) const;
  void watch(Run& run);
  void unwatch(Run& run);
  void supervise(Run run, std::optional<SupervisorId> supervisor);
  Expected<void> adopt_begun(RunId id);
  /// Begun under another state directory, of which `directory` was copied, and not known to have
  /// ended.
  [[nodiscard]] bool was_copied(const RunPlan& plan, const std::string& directory) const;
  /// Reports another cluster if root's daemon has claimed GPUs of ours since.
  void give_way_to_root();
  void tick();
  void set_timer();
  void check_started(Run& run);
  void check_progress(Run& run);
  /// True if its supervisor cannot be waited for any more.
  [[nodiscard]] bool check_supervisor(Run& run);
  void on_supervisor_end(Run& run);
  /// True when nothing is left and the run is reported.
  bool clear_rest(const Run& run);
  void report_end(const Run& run, const RunEnd& end);
  void report_lost(RunId id, std::string why);
  void report_refused(RunId id, std::string why);
  void drop(RunId id);
  void say(RunReport report);

  System& system_;
  LaunchSite site_;
  const std::string unified_;  // the group of v2 that those of runs are below, by name; or empty
  std::unique_ptr<RunPlaces> places_;
  Cluster cluster_;
  std::unique_ptr<RunHost> host_;
  GpuClaims claims_;
  bool has_slots_;
  bool looks_for_root_ = false;  // at the next poll()
  Duration stuck_after_;
  // A trash is on the file system of what it removes: the last two are null unless runs or
  // checkpoints are on another one than the state directory.
  Trash trash_;
  std::unique_ptr<Trash> runs_trash_, checkpoints_trash_;
  std::map<RunId, Run> runs_;
  std::map<JobNumber, RunId> strays_;  // runs that the journal did not know, by their new numbers
  mutable std::mutex strays_mutex_;    // output() asks for them from any thread
  bool has_looked_for_strays_ = false;
  std::set<RunId> never_begun_;  // and never will be; until strays have been looked for
  std::map<SupervisorId, RunId> by_supervisor_;
  std::map<WatchId, RunId> by_watch_;
  std::vector<EngineReport> reports_;
  Duration kill_again_;  // while the rest of a lost run is being killed
};

}  // namespace trainyard
