// What must hold after every step, seen from outside: from what clients were promised, what the
// daemon shows, and what really runs.
//
//  1. Nothing acknowledged is lost: every job and array that was accepted is there, its owner's,
//  and
//     what was refused is not. An event that was shown is never another, and none is left out.
//  2. What has ended has ended: no later state, and no later run.
//  3. Nothing runs twice: of a job one run lives at a time, a run that ended by itself with success
//     is its job's last, and a job whose cancellation was accepted begins no other run.
//  4. No GPU twice: no two processes, and no process on a GPU that the books give to another job.
//     No two living runs with the same MASTER_PORT.
//  5. The books balance: free and held GPUs are all GPUs; each that is held belongs to a job that
//     holds it; what events tell of a job is the state that it is in; what is recorded of a run is
//     what it took, whatever the clock was set to; all that ran is in the history.
//  6. Every user, and all together, are within their budgets: of memory, and of the disk, where the
//     daemon's count is what the rows add up to; scripts and output of a user never take more than
//     that. When all has ended, nothing but history and output is left.
//  7. The policy in force is the last that was accepted.
//  8. A run is told to leave only for a reason that its job's events tell, and for GPUs that are
//     gone only if one of its own is or was: other GPUs, fewer, more or in another order, neither
//     end nor move a run. GPUs are compared by their names.
//  9. Whoever behaves is served while others hold connections, ask too often or read no answers; a
//     request that was cut off, or had no valid token, changed nothing (clients' complaints).
// 10. The daemon's audit is whole: its chain holds, every submission that was accepted is in it as
//     its user's, and every job was asked for in it, also if the daemon died meanwhile.
// 11. A row whose bits flipped is not believed: a job that had not ended fails, and the log or the
//     reason names the row; a setting is named in the log; an event is not shown as another. The
//     others keep every promise, and `verify` finds those rows wrong and no others.
// 12. When a backup is restored, all that was promised before it was made holds. What came later
//     may be gone, but no number is given again, and 3 (one run at a time) and 4 hold for all.
// 13. No byte that a job wrote, as output or as a checkpoint, is gone unless an option says so
//     (and written.h).
// 14. No run is started on a machine without the features that its job asks for, and each worker
//     has the share of its own machine.
// 15. A forecast is no nonsense: its quantiles are in order, no job that waits starts before it was
//     made or is unknown, and a promise that was made to a job is the same from then on.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "clients.h"
#include "live/journal/verify.h"
#include "machine.h"

namespace trainyard {

/// A bit of a row flipped.
struct Damage {
  std::string table, row, column;
  JobNumber job = 0;             // whose row it is, or 0
  std::vector<JobNumber> tasks;  // of the array, if it is the row of one
  bool is_unfinished = false;
  bool daemon_is_down = false;
};

class Audit {
 public:
  /// `chooses_gpus`: the engine does. `compacts`: events of ended jobs are dropped soon.
  Audit(SimulatedMachine& machine, const Clients& clients, const SchedulingOptions& options,
        bool chooses_gpus, bool compacts)
      : machine_(machine),
        clients_(clients),
        memory_(options.memory),
        disk_(options.disk),
        chooses_gpus_(chooses_gpus),
        compacts_(compacts),
        began_(machine.now()) {}

  /// What does not hold; empty when all does. `in_full`: also what takes longer.
  [[nodiscard]] std::string look(bool in_full);
  /// At the very end: everything has come to its end.
  [[nodiscard]] std::string look_at_end();
  /// Of all events that were shown.
  [[nodiscard]] std::uint64_t digest() const { return digest_; }
  /// What a disk could not sync may be there or not after a crash, though it was refused.
  void allow_refused() { allows_refused_ = true; }
  void expect(const Damage& damage);
  /// Jobs that have, or had, a damaged row.
  [[nodiscard]] const std::set<JobNumber>& damaged() const { return damaged_; }
  /// The journal is what it was when those were damaged.
  void restored(const std::set<JobNumber>& damaged);
  /// Whether all that is wrong is known.
  [[nodiscard]] std::string look_at_verification(const Verification& found) const;

 private:
  std::string look_at_world();
  std::string look_at_reason(const MemoryWorld::Seen& run);
  std::string look_at_files();
  void note_capacities();
  std::string look_at_terms(const MemoryWorld::Seen& run);
  [[nodiscard]] std::int32_t count_gone_gpus(const std::string& machine);
  [[nodiscard]] bool has_its_share(const JobSpec& spec, const Resources& grant, std::size_t workers,
                                   const std::string& machine);
  std::string look_at_events();
  std::string look_at_jobs();
  std::string look_at_machines();
  std::string look_at_disk();
  std::string look_at_promises();
  std::string look_at_forecast();
  std::string look_at_promise(const JobRecord& job);
  std::string look_at_audit_log(const JobPage& jobs);
  std::string look_at_ended(const JobRecord& job);
  std::string look_at_duration(const JobRecord& job);
  std::string look_at_history();
  std::string look_at_damage();
  std::string look_at_journal();
  [[nodiscard]] bool is_damaged(JobNumber job) const { return damaged_.contains(job); }
  [[nodiscard]] bool is_stray(const MemoryWorld::Seen& run);
  [[nodiscard]] bool has_damage() const { return !damaged_.empty() || !lost_events_.empty(); }
  std::string look_at_output();
  [[nodiscard]] bool is_unheard(const MemoryWorld::Seen& run);
  [[nodiscard]] bool has_left_gpu(const MemoryWorld::Seen& run);
  std::string take(const LiveEvent& event);

  struct Told {  // of a job, by its events
    std::string last;
    std::uint32_t starts = 0;
    std::uint32_t run = 0;                // the last that an event named
    std::set<std::uint32_t> pausing;      // runs that were told to leave, or were to be
    std::set<std::uint32_t> broken;       // ... because a part of them is gone
    std::set<std::uint32_t> without_gpu;  // ... which was a GPU
    std::set<std::uint32_t> has_reason;   // runs that were to leave for any reason
    bool has_ended = false;
  };

  SimulatedMachine& machine_;
  const Clients& clients_;
  std::size_t memory_;
  std::int64_t disk_;
  std::map<std::int64_t, std::uint64_t> events_;  // that were shown, by number: a digest of each
  std::int64_t heard_ = 0;                        // of the present daemon
  std::uint64_t daemon_ = 0;                      // which that is
  std::map<JobNumber, Told> told_;
  std::map<JobNumber, std::string> ended_;       // how
  std::map<JobNumber, std::uint32_t> last_run_;  // the run that ended its job
  std::map<JobNumber, std::string> promised_;    // how long to wait, from when it was promised
  std::map<JobNumber, Duration> lasted_;         // runs that ended by themselves
  std::uint64_t digest_ = 14695981039346656037ULL;
  bool allows_refused_ = false;
  std::set<JobNumber> damaged_;
  std::set<std::string> damaged_tags_, damaged_rows_;
  std::vector<Damage> expected_;  // that have not shown yet
  std::set<std::int64_t> lost_events_;
  std::set<RunId> before_restore_;  // runs of which the journal may know nothing
  bool is_clock_lost_ = false, is_restored_ = false;
  bool chooses_gpus_, compacts_;
  Time began_;
  std::set<RunId> seen_;  // runs whose machines were looked at
  /// What each machine has had, by name, as the daemon and the engine saw it.
  std::map<std::string, std::set<Resources>> capacities_;
  /// Jobs that the daemon lists as not ended. To ask for one of them reads its script, which may be
  /// megabytes: after every step that took two thirds of the simulation's time.
  std::set<JobNumber> unfinished_;
  bool is_room_made_ = false;  // for a job, of GPUs that nobody holds meanwhile
};

}  // namespace trainyard
