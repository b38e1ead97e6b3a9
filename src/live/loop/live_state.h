// What the scheduler's thread owns, and its parts (Gate, Runs, Recovery, the requests) work on
// together. All of it belongs to that thread.
//
// Nothing takes effect outside before it is on disk: what happened and what the engine is to do
// stand here, beside the book's changed records, until the loop has written them down.
#pragma once

#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>
#include <vector>

#include "live/book/folded_tasks.h"
#include "live/book/job_book.h"
#include "live/book/job_words.h"
#include "live/engine/engine.h"
#include "live/journal/journal.h"
#include "live/loop/flow_agents.h"
#include "live/loop/kept_learnt.h"
#include "live/loop/live_clock.h"
#include "live/loop/live_yard.h"
#include "live/loop/promise_box.h"
#include "live/service/service.h"
#include "live/system/disk_reserve.h"
#include "live/system/system.h"

namespace trainyard {

struct SchedulingOptions {
  PolicyView policy;                         // used when the journal has none; its settings always
  Duration keep_output = days(30);           // and events, of jobs that ended (retention.h)
  std::optional<Duration> keep_checkpoints;  // of jobs that ended; none: they are never erased
  std::size_t least_erased_a_day = 1000;     // jobs that may be, however few are kept
  std::size_t admitted_at_once = 25;         // in a turn, of those that were submitted
  Duration kill_wait = seconds(30);          // from SIGTERM to SIGKILL
  std::string reserve;  // the directory on whose disk space is kept; empty: none is
  /// A run counts as loading for so long, where nothing is known of its job (loads.h).
  Duration load_time;
  bool explains_starts = false;  // the log says why the job that waits longest is passed
  bool private_jobs = false;     // a user sees nothing of other users' jobs
  /// What jobs that have not ended may take of memory; those of one user, half of it.
  std::size_t memory = std::size_t{512} << 20;
  /// What the jobs of all users may take of the disk (disk_budget.h).
  std::int64_t disk = std::numeric_limits<std::int64_t>::max();
  /// May run jobs of these users; all where the daemon is root.
  std::optional<uid_t> only_uid;
};

/// When the policy is asked.
struct DecisionTimes {
  bool is_due = true;
  Time policy_wake = Time::never();  // when it wants to be asked, whatever happens
  Time not_before;                   // a start has failed just now
  Duration after_failed_start;       // so long, while they fail

  [[nodiscard]] bool is_now(Time now) const {
    return (is_due || now >= policy_wake) && now >= not_before;
  }
  [[nodiscard]] Time next() const {
    return is_due ? not_before : std::max(policy_wake, not_before);
  }
};

/// What keeps a machine from taking jobs, if anything.
struct MachineStatus {
  bool closed = false;  // by an operator
  MachineReport::State reported = MachineReport::State::up;
  std::string why;           // it is not up, as the engine says
  bool is_kept = false;      // as it was, until its jobs have left: the engine's is another now
  bool has_old_run = false;  // something runs there that the yard does not have
};

std::optional<MachineId> find_machine(const Cluster& cluster, std::string_view name);

struct LiveState {
  LiveState(System& given_system, Journal& given_journal, Engine& given_engine,
            SchedulingOptions given_options)
      : system(given_system),
        journal(given_journal),
        engine(given_engine),
        options(std::move(given_options)),
        clock(system, journal.setting("clock"), journal.last_time()),
        reserve(system, options.reserve),
        cluster(std::make_shared<Cluster>(engine.cluster())),
        has_flow_classes(engine.flow_classes() == FlowClasses::carried_out),
        yard(cluster, engine.flow_classes(), options.load_time) {}

  [[nodiscard]] Time now() const { return clock.now(); }

  /// Something that happens now; each has a number, whether or not it is written down.
  [[nodiscard]] LiveEvent event_of(const JobRecord& job, Happening kind,
                                   const nlohmann::json& details);
  [[nodiscard]] LiveEvent submission_of(const JobRecord& job);
  /// About no job.
  [[nodiscard]] LiveEvent event_of(Happening kind, const nlohmann::json& details);
  /// It has happened, and is to be written down.
  void note(const JobRecord& job, Happening kind, const nlohmann::json& details);
  /// To be done when all that happened so far is on disk.
  void later(std::function<void()> act) { acts.push_back(std::move(act)); }

  /// Has the row of a folded task written, with what happens now; does nothing for others.
  void unfold(JobNumber task);
  /// The same for all tasks that have changed.
  void unfold_changed();
  /// The same within a command: once that is written down, the task is folded no more.
  void stage_unfolding(JobNumber task, JournalChange& change);

  /// Tells the yard, and has the book agree with it.
  Verdict tell(EventKind kind, JobNumber job);
  /// The job has loaded by now, and has done so much in all.
  void tell_loaded(JobNumber job, Duration work);
  /// Has the book agree with the yard.
  void update_book();
  [[nodiscard]] const MachineStatus& status(MachineId machine) const;
  [[nodiscard]] bool takes_jobs(MachineId machine) const;
  /// Has the yard agree with whether the machine takes jobs.
  void update_machine(MachineId machine);

  /// Begins the yard anew, on the cluster as it is now, with the jobs of the book.
  Expected<void> begin_yard(const PolicySpec& spec);
  /// Tells operators, once for each policy that is taken into force, which part of it is idle.
  void log_idle_stages(const PolicySpec& spec);
  /// Has the policy's flow stage act while there are agents that carry classes out.
  void follow_flow_agents();
  /// Has all times agree with the wall clock, where somebody has set it: what they were moved by.
  Duration follow_wall_clock();
  /// The same where most of the jobs that the yard remembers have ended.
  void forget_ended_jobs();

  /// What forecasts have promised is entered into the book, where a job has no promise yet.
  void take_promises();

  /// What the policy has learnt is to be written down, if there is news; and is taken from there.
  void keep_learnt();
  void recall_learnt();
  void recall_pause_costs();

  System& system;
  Journal& journal;
  Engine& engine;
  const SchedulingOptions options;
  LiveClock clock;
  DiskReserve reserve;
  bool has_plausible_clock = true;

  std::shared_ptr<const Cluster> cluster;  // replaced as a whole: others may be looking at it
  std::map<std::string, MachineStatus> machines;  // by name; the others are up
  FlowAgents flow_agents;
  bool has_flow_classes = false;  // the yard was begun with them
  LiveYard yard;
  JobBook book;
  FoldedTasks folded;  // tasks in the book
  PolicyView policy;
  std::map<JobNumber, Time> resting;  // could not be started: until then they are held
  std::set<JobNumber> old_runs;       // held jobs that run somewhere all the same (old_runs.h)
  std::set<MachineId> touched;        // machines that have changed since they were last shown
  JobNumber last_number = 0;
  DecisionTimes decisions;
  Counters counters;

  // What is not on disk yet, besides the records that have changed.
  std::vector<LiveEvent> happened;
  std::vector<std::function<void()>> acts;
  std::vector<std::pair<std::string, std::string>> settings;
  std::map<JobNumber, JobPayload> newborn;           // jobs that the journal does not have yet,
  std::map<std::string, JobNumber> newborn_numbers;  // ... by the engine's names of them
  std::set<JobNumber> unfolding;                     // tasks whose rows are to be written
  std::int64_t last_sequence = 0;
  std::shared_ptr<const KeptLearnt> kept = std::make_shared<KeptLearnt>();  // last to be written
  PromiseBox promises;
};

/// What flow stages are given live unless it is set otherwise: as many classes as most switches
/// have to spare, a floor that keeps the last class from starving, and a margin, as real packets
/// are reordered by each change.
const std::vector<std::string>& live_flow_settings();

/// A policy, with what was given when the daemon was started: that holds for every policy that has
/// such a parameter, unless it is set otherwise with the policy. (A stage that was given belongs to
/// its policy.)
PolicyView with_given_settings(PolicyView policy, const PolicyView& given);
/// With live_flow_settings().
Expected<PolicySpec> parse(const PolicyView& policy);

}  // namespace trainyard
