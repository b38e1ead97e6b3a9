// What the daemon does for those who ask it, one method for each thing that can be asked: the
// boundary between the scheduler and how it is reached (HTTP). Safe to call from any thread; a
// change is on disk before its call returns.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "live/book/job_record.h"
#include "live/engine/engine.h"
#include "live/job/identity.h"
#include "live/job/job_spec.h"
#include "live/service/live_outlook.h"
#include "policy/policy.h"

namespace trainyard {

/// Why something asked for is not done; `message` is for the person who asked.
struct Refusal {
  enum class Kind : std::uint8_t {
    invalid,      // 400: what was asked makes no sense
    forbidden,    // 403: not for this person
    not_found,    // 404
    conflict,     // 409: not as things stand
    unavailable,  // 503: cannot be recorded now (the disk is full); nothing was changed
  };
  Kind kind{};
  std::string message;
};

template <class T>
using Answer = tl::expected<T, Refusal>;

struct JobFilter {
  std::optional<std::string> user, name;
  std::optional<uid_t> uid;   // beside the name, which may have been another's before
  std::vector<Phase> states;  // empty: all
  std::optional<JobClass> job_class;
  std::optional<JobNumber> array;  // only its tasks
  bool fold = false;               // tasks of an array that wait in the same state count as one
  JobNumber before = 0;  // only smaller numbers; 0: from the newest on. Pages go backwards.
  JobNumber above = 0;   // only larger ones
  std::size_t limit = 100;
};

struct JobPage {
  std::vector<JobRecord> jobs;  // newest first
  bool more = false;
  /// By the number of the job that stands for them: tasks of its array that wait as it does.
  std::map<JobNumber, std::vector<std::int32_t>> folded;
};

struct Submitted {
  JobNumber number = 0;  // the job's, or the array's
  std::vector<std::string> warnings;
  std::size_t tasks = 0;  // of the array; 0: it is none
};

/// Why a job waits: a token, a sentence with numbers, and what the user can do about it.
struct WhyAnswer {
  std::string state;  // the job's
  WaitsBy category{};
  WaitReason reason;
  std::string advice;
  std::string flow{};  // of a job that sends over the network: why it is in its class
  LastPause pause{};   // of a paused job, or one that is leaving
  std::optional<Duration> pause_took{}, pause_cost{};
  TimeBand expected{};  // its start, by the last forecast; p50 is never: not known

  /// Under what condition its expected start is right.
  [[nodiscard]] std::string expected_if() const {
    return reason.token == "room-being-made"
               ? "they leave as fast as they declare"
               : "the jobs before it take as long as they declare and no other goes first";
  }
};

constexpr JobNumber kHidden = -1;

/// A job that sends over the network, and the class of its bytes.
struct JobFlow {
  RunId run;
  FlowClass flow = kFirstFlow;
  std::string born_as;  // the engine's name of a job that it reported
  /// Its user, where no other job of theirs is on the machine: what the user sends is the job's.
  std::optional<uid_t> sole_user{};

  bool operator==(const JobFlow&) const = default;
};

/// How flow classes are carried out: by agents on machines, who ask for them.
struct FlowTerms {
  bool carried_out = false;  // an agent has asked of late
  std::size_t classes = 1;
  double floor = 0;  // the share of every link that the last class keeps
  std::string by;    // the policy's stage: "milestones"

  bool operator==(const FlowTerms&) const = default;
};

/// Which jobs of a machine send in which class, for its agent.
struct MachineFlows {
  struct Job {
    JobFlow flow;
    std::vector<std::string> cgroups;  // where its processes may be (Engine::cgroups_of)

    bool operator==(const Job&) const = default;
  };
  std::string machine;
  FlowTerms terms;
  Duration valid_for;
  std::vector<Job> jobs{};
  Duration age{};  // since the scheduler's thread vouched for it

  bool operator==(const MachineFlows&) const = default;
};

struct MachineView {
  std::string name, kind, state;  // state: "up", "closed" (nothing new starts), "down"
  Resources capacity, free;
  std::vector<JobNumber> by_gpu;  // which job holds each GPU; 0: none, kHidden: one not to be told
  std::string reason;             // it is not up, as the engine says: "not responding"
  std::vector<std::string> gpu_names{};  // as a machine of the cluster has them
  std::vector<JobFlow> flows{};          // of its jobs that send, where an agent orders them
  bool has_flow_agent = false;
};

struct ClusterView {
  std::vector<MachineView> machines;
  std::size_t queued = 0, running = 0;
  std::vector<std::string> notices{};  // for operators: what waits for them
};

struct PolicyView {
  std::string policy;                 // what was asked for: a preset or a line
  std::vector<std::string> settings;  // "stage.param=value"

  bool operator==(const PolicyView&) const = default;
};

/// What ended jobs have left behind, and what becomes of it (loop/retention.h).
struct RetentionView {
  struct Part {
    std::optional<Duration> keep;   // none: for ever
    std::size_t kept = 0, due = 0;  // ended jobs: that have it, and have it for longer
    std::size_t erased_today = 0, most_a_day = 0;  // in a day of lived time
  };
  Part output, checkpoints;
  Duration lived;         // time that the daemon has lived through, in all its lives
  std::string suspended;  // why nothing is erased; empty if it is
  Time since;             // then
};

/// Something that happened, as event streams and the journal tell it.
struct LiveEvent {
  std::int64_t sequence = 0;  // 1, 2, 3 ...
  Time at;
  std::string kind;     // the name of a Happening, or of one that a later version knows
  JobNumber job = 0;    // 0: not about a job
  std::string user;     // the job's
  std::string details;  // a JSON object
};

/// What everybody may see of it: what happened to which job, and of a new one its name.
LiveEvent public_part(const LiveEvent& event);
/// The event without who made it happen: of what operators do, users see what was done.
LiveEvent without_actor(const LiveEvent& event);

/// Counts for /metrics, since the daemon began.
struct Counters {
  std::uint64_t submitted = 0, started = 0, paused = 0, done = 0, failed = 0, cancelled = 0;
  std::uint64_t decisions = 0, refused_plans = 0, journal_commits = 0, journal_failures = 0;
  double decision_seconds = 0, commit_seconds = 0;
  bool accepting = true;           // false while the journal cannot be written
  bool erasing_suspended = false;  // until an operator resumes it
  bool disk_full = false;          // only what ends jobs is recorded, in space that was kept for it
  std::size_t in_memory = 0;       // jobs that the yard remembers, ended ones among them
};

class Service {
 public:
  virtual ~Service() = default;

  virtual Answer<Submitted> submit(const Identity& who, JobSpec spec) = 0;
  /// The jobs that go by this name: one, or tasks of an array.
  virtual Answer<std::vector<JobNumber>> find(const Identity& who, const JobName& name) = 0;
  /// All of them together. Those that are being ended, or have ended, are left as they are; if all
  /// have ended it is refused.
  virtual Answer<void> cancel(const Identity& who, const std::vector<JobNumber>& jobs) = 0;
  /// Starts nothing new on it; what runs there goes on.
  virtual Answer<void> close_machine(const Identity& who, const std::string& machine) = 0;
  virtual Answer<void> open_machine(const Identity& who, const std::string& machine) = 0;
  virtual Answer<void> set_policy(const Identity& who, const PolicyView& policy) = 0;
  /// Lets erasing go on after it was suspended. Both for operators.
  virtual Answer<void> resume_erasing(const Identity& who) = 0;
  virtual Answer<RetentionView> retention(const Identity& who) = 0;

  /// A user sees all of what is theirs, an operator all of everything; of other jobs a user sees
  /// what stands in the queue (public_part), or nothing where the daemon keeps jobs private. The
  /// environment is nobody's (cleared).
  virtual Answer<JobRecord> job(const Identity& who, JobNumber job) = 0;
  virtual Answer<JobPage> jobs(const Identity& who, const JobFilter& filter) = 0;
  virtual Answer<WhyAnswer> why(const Identity& who, JobNumber job) = 0;
  /// The last forecast, of all jobs that may be shown or of one; made beside the scheduler, so it
  /// may be of some time ago.
  virtual Answer<LiveOutlook> forecast(const Identity& who, std::optional<JobNumber> job) = 0;
  /// A forecast under other suppositions, of the present; waits for it, some seconds at most.
  virtual Answer<LiveOutlook> what_if(const Identity& who, OutlookQuestion question) = 0;
  /// Of its last run (0), or of run `run`.
  struct LogPage {
    Engine::Output output;
    std::uint32_t run = 0;
    bool at_end = false;  // nothing more will come of this run
  };
  virtual Answer<LogPage> logs(const Identity& who, JobNumber job, std::int32_t worker,
                               std::uint32_t run, std::uint64_t offset) = 0;
  virtual Answer<ClusterView> cluster(const Identity& who) = 0;
  virtual Answer<PolicyView> policy(const Identity& who) = 0;
  /// For the machine's agent, and operators. `vouched` says that an agent is there from now on:
  /// where there are any, the policy's flow stage acts. It waits for the scheduler's thread, so
  /// that the answer is as of now.
  virtual Answer<MachineFlows> flows(const Identity& who, const std::string& machine,
                                     bool vouched) = 0;
  /// The ended jobs as a workload in our own CSV, for replaying them; see docs/workloads.md. By
  /// number, in parts: the first follows on a HistoryPart{}, each other on the one before.
  struct HistoryPart {
    std::string csv;
    JobNumber last = 0;  // of those that were looked at
    Time begin;          // of the workload: when the first was submitted
    bool is_last = false;
  };
  virtual Answer<HistoryPart> history(const Identity& who, const HistoryPart& before) = 0;

  /// Events after this number that may be shown to `who`, 256 at most; waits up to `patience` for
  /// the first. What happened longer ago than is kept is left out.
  struct EventPage {
    std::vector<LiveEvent> events;
    std::int64_t reached = 0;  // whether or not it was shown: where to go on
  };
  virtual EventPage events(const Identity& who, std::int64_t after, Duration patience) = 0;
  /// The last 1,000 of a job, in order, as far as they may be shown.
  virtual Answer<std::vector<LiveEvent>> events_of(const Identity& who, JobNumber job) = 0;
  [[nodiscard]] virtual std::int64_t last_event() const = 0;
  [[nodiscard]] virtual Counters counters() const = 0;
  /// True if `who` may see numbers about all users' jobs together.
  [[nodiscard]] virtual bool may_count(const Identity& /*who*/) const { return true; }
};

}  // namespace trainyard
