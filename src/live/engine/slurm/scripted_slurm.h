// A Slurm in memory, for tests: jobs do what a script says, by a clock that the test moves. It
// starts jobs as a pinned and released one is started, chooses GPUs itself, requeues as Slurm does
// (another submit time, a begin two minutes ahead), and forgets, when it is killed, all that it has
// not saved: jobs, updates, that a job runs, and which ids it has given.
//
// Processes are apart from what slurmctld knows of them: those that it has forgotten are ended when
// it is back for a while. Two of them on one GPU is a fault.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "live/engine/memory/memory_world.h"
#include "live/engine/slurm/slurm_controller.h"
#include "live/system/system.h"

namespace trainyard {

class ScriptedSlurm {
 public:
  /// `clock` must outlive it.
  ScriptedSlurm(const System& clock, std::int32_t nodes, std::int32_t gpus);

  /// As an engine sees it.
  [[nodiscard]] std::unique_ptr<SlurmController> connect();

  // --- What users and operators do ---------------------------------------------------------------
  /// A batch job of one partition, "train", held; its id.
  std::string sbatch(std::int32_t nodes, std::int32_t gpus_per_node, MemoryScript script = {},
                     const std::string& comment = "");
  void scancel(const std::string& id);
  void scontrol_requeue(const std::string& id);
  void scontrol_release(const std::string& id);
  void change(const std::string& id, const std::function<void(SlurmJob&)>& how);
  void set_node(const std::string& name, MachineReport::State state);
  /// What a job of `trainyard submit` does.
  void set_script(JobNumber job, MemoryScript script) { scripts_[job] = std::move(script); }

  /// Its state, which it saves every 5 s by itself.
  void save();

  // --- What goes wrong ---------------------------------------------------------------------------
  /// Does not answer from now on; what was not saved is forgotten.
  void kill();
  void restart();
  /// Calls fail from now on without effect, as while it restarts.
  void set_away(bool is_away) { is_away_ = is_away; }
  /// The next act takes effect and its answer is lost.
  void lose_next_answer() { loses_answer_ = true; }
  /// The next act is not answered in time, and takes effect only just before the one after it.
  void delay_next_act() { delays_act_ = true; }

  // --- What there is to see ----------------------------------------------------------------------
  [[nodiscard]] std::optional<SlurmJob> job(const std::string& id);
  /// How often its script was begun, and how often of that because slurmctld forgot a start.
  struct Begun {
    int times = 0, repeats = 0;
    bool left_when_told = false;  // its last run, by itself, with work left to do
  };
  [[nodiscard]] Begun begun(const std::string& id) const { return begun_by(serial(id)); }
  /// Of the job that has this id now, never given again; 0: there is none.
  [[nodiscard]] std::uint64_t serial(const std::string& id) const;
  [[nodiscard]] Begun begun_by(std::uint64_t serial) const;
  [[nodiscard]] const std::vector<std::string>& faults() const { return faults_; }
  [[nodiscard]] std::size_t processes() const { return processes_.size(); }
  /// Acts that changed something.
  [[nodiscard]] int acts() const { return acts_; }
  /// When something happens by itself next.
  [[nodiscard]] Time next();

 private:
  friend class ScriptedConnection;

  struct Job {
    SlurmJob job;
    MemoryScript script;
    std::uint64_t serial = 0;  // never given again, as ids are
    std::set<std::string> pinned;
    Time ready;  // to be started
    Time leaves = Time::never();
    bool is_requeued = false, holds_then = false;
    bool is_ghost = false;  // it runs no more, but slurmctld has forgotten that
  };
  struct Process {
    Time ends = Time::never(), told_to_end = Time::never();
    int status = 0;
    std::vector<SlurmPlace> places;
  };
  using Jobs = std::map<std::string, Job>;

  void catch_up();
  bool step(Job& job, Time now);
  void try_to_start(Job& job, Time now);
  void end(Job& job, SlurmState state, Time at, int status);
  void requeue(Job& job, bool held);
  [[nodiscard]] std::optional<std::vector<SlurmPlace>> room_for(const Job& job) const;
  Job& at(const std::string& id) { return jobs_.at(id); }
  void touch() { ++version_; }

  const System& clock_;
  std::vector<SlurmNode> nodes_;
  Jobs jobs_, saved_;
  std::map<std::uint64_t, Process> processes_;  // by serial
  std::map<std::uint64_t, Begun> begun_;        // the same
  std::map<JobNumber, MemoryScript> scripts_;
  std::uint64_t next_serial_ = 1;
  std::uint32_t next_id_ = 1, saved_id_ = 1;
  Time last_save_, back_since_;
  std::uint64_t version_ = 1;
  bool is_away_ = false, loses_answer_ = false, delays_act_ = false;
  std::function<void()> delayed_;
  std::vector<std::string> faults_;
  int acts_ = 0;
};

}  // namespace trainyard
