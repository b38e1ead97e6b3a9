// What we want of Slurm's jobs, and what Slurm makes of it. Slurm is the truth: every look compares
// what it says with what was ordered, and does the next thing that is missing, again and again
// until it is seen to hold. So it does not matter whether a call was lost, took effect unheard, or
// was undone by a slurmctld that fell back to what it had saved.
//
//   start     pin to the nodes, mark with the run's number, release: one update (`placing`). Not
//             started within a while (`starting`): held again, and reported as lost.
//   running   reported with the GPUs that Slurm chose.
//   stop      the declared signal, the grace, then requeue and hold (`leaving`). The run has ended
//             when Slurm says that nothing of it is COMPLETING any more.
//
// Before every act the job is read anew, unless all were just now: one that was submitted at
// another time is another job, to which Slurm gave the id of one that it has lost. (What it
// requeues Slurm says was submitted then; the restart count and our mark tell that it is the same.)
//
// A job starts again some seconds after it has left: slurmd refuses one that it has ended in the
// same second, by its clock, and Slurm takes that for the job's own failure.
//
// Jobs that we submitted (Start::submission) are a job of Slurm's for each run; they are cancelled
// where others are requeued. One thread; nothing here waits but Slurm's calls.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "live/engine/slurm/mark.h"
#include "live/engine/slurm/nodes.h"
#include "live/engine/slurm/slurm_controller.h"
#include "live/system/system.h"

namespace trainyard {

struct SlurmRunsOptions {
  std::string partition;
  std::string daemon;  // as in marks
  Duration start_within = seconds(15);
  /// After slurmctld was away, or has forgotten that a job runs: until slurmd has registered, and
  /// been told to end what slurmctld does not know.
  Duration settle = seconds(10);
  bool takes_unheld = false;  // also jobs that wait for Slurm's own scheduler (dry_run.h)
};

/// Slurm's id of the job that is reported under this name; empty if it is no such name.
std::string slurm_id(std::string_view born_as);

class SlurmRuns {
 public:
  /// Both must outlive it.
  SlurmRuns(System& system, SlurmController& slurm, SlurmRunsOptions options);

  struct Start {
    RunId id;
    std::vector<std::string> nodes;             // by rank
    std::int32_t gpus = 1;                      // of each worker
    std::optional<SlurmSubmission> submission;  // none: the job was born in Slurm
    Time decided{};                             // by the steady clock
  };
  void start(Start start);
  void stop(const Stop& stop);
  void adopt(RunId id);
  void call(const std::string& born_as, JobNumber job);
  /// It is not to run any more.
  void end(JobNumber job);

  /// Reads what Slurm says, and does what follows. False: slurmctld does not answer.
  bool look();
  /// Whether the last look is so young that a job need not be read anew before it is started.
  [[nodiscard]] bool is_fresh() const;
  /// Whether a job starts or leaves.
  [[nodiscard]] bool is_in_transit() const;
  /// Does what is due by now without asking Slurm what is new.
  void tend();
  /// Until then nothing is done or reported about any job: only when all that is known after a
  /// restart has been said is it clear which runs are wanted, and which were told to leave. An end
  /// of the latter is a pause.
  void open() { is_open_ = true; }

  [[nodiscard]] const SlurmNodes& nodes() const { return nodes_; }
  [[nodiscard]] std::vector<EngineReport> take_reports() { return std::exchange(reports_, {}); }
  /// When something is due that no report of Slurm's brings about.
  [[nodiscard]] Time next() const;
  /// Slurm's id of the job in which this run was started, and its output.
  [[nodiscard]] std::optional<std::pair<std::string, std::string>> output_of(JobNumber job) const;

 private:
  struct Run {
    enum class Stage : std::uint8_t { placing, starting, running, leaving };
    Stage stage{};
    Start order;
    bool is_outside = false;  // of our control: nobody ordered it
    bool is_told = false;     // that it runs
    std::uint32_t restarts = 0;
    Time started;  // by Slurm's word
    std::vector<SlurmPlace> places;
    Time ordered;                   // Slurm has its order since; zero: since an earlier daemon
    Duration waited;                // for its start, while slurmctld was there
    std::optional<Time> undone_at;  // Slurm has forgotten its order or its start
    std::optional<Stop> stop;
    std::optional<Time> leave_by;  // it was asked to leave
    bool was_requeued = false;     // by us
    std::optional<int> exit_status;
    std::optional<JobProgress> told{};  // how far it is, as it was last reported

    [[nodiscard]] RunId id() const { return order.id; }
    [[nodiscard]] bool is_own() const { return order.submission.has_value(); }
  };
  struct Followed {
    SlurmJob job;  // as last seen
    SlurmMark mark;
    bool is_there = true;
    JobNumber number = 0;      // the yard's; 0: it has none yet
    bool is_reported = false;  // as a birth
    bool is_own = false;       // we submitted it
    bool is_over = false;      // it is not to run any more
    bool end_is_told = false;  // that of its last run, which Slurm shows
    bool needs_mark = false;
    bool has_others_pin = false;  // another daemon has started it
    Time last_ran;                // by the steady clock, as far as it was seen
    std::string not_taken;        // why
    SlurmRequest told;            // what the yard knows of it
    std::string told_comment;
    std::optional<JobSpec> told_spec;
    std::optional<Run> run;

    /// When it was submitted, in whole seconds.
    [[nodiscard]] std::int64_t since() const {
      return mark.since != 0 ? mark.since : job.submitted.us / seconds(1).us;
    }
  };
  /// In the order of their numbers: so jobs of the same second are reported as they came.
  struct ById {
    bool operator()(const std::string& a, const std::string& b) const;
  };
  using Jobs = std::map<std::string, Followed, ById>;

  // --- What Slurm says
  void take_nodes(std::vector<SlurmNode> nodes);
  void take_jobs(std::vector<SlurmJob> jobs);
  void see(Followed& job, SlurmJob seen);
  [[nodiscard]] static bool is_same(const Followed& job, const SlurmJob& seen);
  [[nodiscard]] bool concerns_us(const SlurmJob& job) const;
  void vanish(Followed& job);
  void note_away(const SlurmFailure& failure);
  void note_other(const SlurmJob& job, const std::string& daemon);

  // --- Jobs that wait (slurm_waiting.cpp)
  void tend_waiting(Followed& job);
  void tend_pending(Followed& job);
  void tend_ended(Followed& job);
  /// What the yard is told of it.
  [[nodiscard]] Expected<JobSpec> spec(const Followed& job) const;
  [[nodiscard]] bool still_asks_the_same(const Followed& job) const;
  [[nodiscard]] bool is_candidate(const SlurmJob& job) const;
  void bear(Followed& job);
  void bear_running(Followed& job);
  void bear_anew(Followed& job, const std::string& why);
  void sweep(Followed& job);
  void write_mark(Followed& job);
  [[nodiscard]] bool is_ghost(const Followed& job) const;
  void lay(Followed& job);
  void refuse(Followed& job, const std::string& why);
  [[nodiscard]] std::string name_of(const Followed& job) const;
  [[nodiscard]] Jobs::iterator find_born(const std::string& name);

  // --- Runs (slurm_stages.cpp)
  void tend(Followed& job);
  void submit_own();
  [[nodiscard]] std::string misplaced(const Followed& job) const;
  void place(Followed& job);
  void await_start(Followed& job);
  void take_back(Followed& job);
  void watch(Followed& job);
  void hear_requeued(Followed& job);
  void hear_undone(Followed& job);
  void hear_repeated(Followed& job);
  /// Long enough after it was seen that slurmctld has gone back to what it had saved.
  [[nodiscard]] bool has_settled(Run& run) const;
  /// Back to where it waits, held. True when it does.
  bool put_back(Followed& job);
  [[nodiscard]] bool is_regrouping() const;
  void see_off(Followed& job);
  void see_off_running(Followed& job);
  void ask_to_leave(Followed& job);
  void hear_end(Followed& job);
  void tell_started(Followed& job);
  void finish(Followed& job, RunReport report);
  void lose(Followed& job, std::string why);
  [[nodiscard]] RunReport report_of(const Followed& job, RunReport::Kind kind) const;

  // --- Acts
  /// Whether it is still the same job; what has changed of it is taken over.
  bool refresh(Followed& job);
  /// True when it is done; else it is tried again at the next look, unless Slurm has refused it.
  bool done(const Followed& job, const char* what, const SlurmAnswer<void>& answer);
  bool hold(Followed& job);

  void say(RunReport report);
  void say_withdrawn(JobNumber job, const std::string& why);
  void note(const Followed& job, const std::string& why);
  [[nodiscard]] std::vector<WorkerPlace> places_by_rank(const Run& run, const SlurmJob& job) const;
  [[nodiscard]] std::vector<WorkerPlace> places_by_node(const SlurmJob& job) const;
  Followed* find(JobNumber job);
  [[nodiscard]] bool is_mine(const SlurmMark& mark) const { return mark.daemon == options_.daemon; }

  System& system_;
  SlurmController& slurm_;
  const SlurmRunsOptions options_;
  SlurmNodes nodes_;
  Jobs jobs_;                                       // by Slurm's id
  std::unordered_map<JobNumber, std::string> ids_;  // of those that have a number
  std::map<std::string, std::int32_t> busy_;        // by array: tasks that we have taken
  std::map<JobNumber, Run> unsubmitted_;
  std::vector<EngineReport> reports_;
  std::vector<std::pair<Time, RunReport>> settling_;  // ends of runs whose jobs Slurm has lost
  Time last_look_;
  Duration passed_;     // since the look before, as far as slurmctld was there
  int marks_left_ = 0;  // so many more may be written before the next look
  bool is_away_ = false, is_open_ = false;
  std::optional<Time> back_since_;  // slurmctld was away
  std::string last_refusal_;
  std::set<std::string> others_;  // daemons that have marked jobs of the partition
};

}  // namespace trainyard
