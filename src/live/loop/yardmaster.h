// The live scheduler: one thread that owns the yard, the policy, the journal and the engine, and
// does all that changes them. Others ask through Service.
//
// A turn of its loop, each step only after the one before:
//  1. What callers asked for is checked, and written down in one transaction.
//  2. It takes effect in the yard, as does what the engine reports; the policy decides.
//  3. What that changed is written down in a second one: facts, and what is intended.
//  4. Callers get their answers, and streams their events.
//  5. The engine acts on what was intended.
// So nothing is acknowledged or begun that is not on disk, and many callers share a transaction.
//
// If (1) cannot be written, these callers are refused, and nothing has changed. If (3) cannot, the
// loop stays there: what was decided is not done, new work is refused, what runs goes on, and the
// same is tried again every second.
//
// After the end of the process, however it came: jobs and their phases come from the journal, and
// the engine is asked what became of every run that was to be started.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "live/book/array_slots.h"
#include "live/engine/engine.h"
#include "live/journal/journal.h"
#include "live/loop/live_yard.h"
#include "live/service/service.h"
#include "live/system/system.h"

namespace trainyard {

struct YardmasterOptions {
  PolicyView policy;                 // used when the journal has none; its settings always
  Duration keep_ended = days(30);    // output and events of jobs that ended, for so long
  Duration kill_wait = seconds(30);  // from SIGTERM to SIGKILL
  bool private_jobs = false;         // a user sees nothing of other users' jobs
  /// May run jobs of these users; all where the daemon is root.
  std::optional<uid_t> only_uid;
};

class Yardmaster final : public Service {
 public:
  /// Takes up what the journal and the engine know, and begins. They must outlive it.
  static Expected<std::unique_ptr<Yardmaster>> start(System& system, Journal& journal,
                                                     Engine& engine, YardmasterOptions options);
  /// Ends the loop; jobs run on.
  ~Yardmaster() override;

  Answer<Submitted> submit(const Identity& who, JobSpec spec) override;
  Answer<std::vector<JobNumber>> find(const Identity& who, const JobName& name) override;
  Answer<void> cancel(const Identity& who, const std::vector<JobNumber>& jobs) override;
  Answer<void> drain(const Identity& who, const std::string& machine) override;
  Answer<void> resume(const Identity& who, const std::string& machine) override;
  Answer<void> set_policy(const Identity& who, const PolicyView& policy) override;

  Answer<JobRecord> job(const Identity& who, JobNumber job) override;
  Answer<JobPage> jobs(const Identity& who, const JobFilter& filter) override;
  Answer<WhyAnswer> why(const Identity& who, JobNumber job) override;
  Answer<LogPage> logs(const Identity& who, JobNumber job, std::int32_t worker, std::uint32_t run,
                       std::uint64_t offset) override;
  Answer<ClusterView> cluster(const Identity& who) override;
  Answer<PolicyView> policy(const Identity& who) override;
  Answer<std::string> history(const Identity& who) override;
  EventPage events(const Identity& who, std::int64_t after, Duration patience) override;
  [[nodiscard]] std::int64_t last_event() const override;
  [[nodiscard]] Counters counters() const override;

 private:
  /// What a caller asked for, and waits for.
  struct Command {
    /// Checks it, and says what is to be written down; or refuses.
    std::function<Answer<void>(JournalChange&)> stage;
    /// It is written down.
    std::function<void()> take_effect;
    std::promise<Answer<void>> done;
  };
  /// Something for the engine to do once its intent is on disk.
  using Act = std::function<void()>;

  Yardmaster(System& system, Journal& journal, Engine& engine, YardmasterOptions options);

  // --- The loop (yardmaster.cpp) ---------------------------------------------------------------
  Answer<void> ask(Command command);
  void run();
  void turn(std::vector<Command>& commands);
  std::vector<Answer<void>> take_in(std::vector<Command>& commands);
  void update_records();
  void take_orders();
  bool write_down();
  void note_journal_failure(const Error& error);
  void act();
  void decide();
  void wait_for_something();
  [[nodiscard]] Time next_deadline() const;
  void publish(std::vector<LiveEvent> events);
  [[nodiscard]] Time now() const;

  // --- What happens to jobs (happenings.cpp)
  // ------------------------------------------------------
  Expected<void> recover();
  Expected<void> recall_arrays();
  Expected<void> recall_gpus();
  Expected<void> take_up_jobs();
  Expected<void> take_up(JobRecord& job);
  void leave_the_machine();
  void hold_what_does_not_fit();
  Expected<void> find_dependencies(JobRecord& job);
  void hear(const RunReport& report);
  void hear_started(JobRecord& job);
  void hear_end(JobRecord& job, const RunReport& report);
  void hear_end_left_behind(JobRecord& job, const RunReport& report);
  void hear_left(JobRecord& job, int exit_status);
  void end_by_itself(JobRecord& job, const RunReport& report);
  Verdict tell(EventKind kind, JobRecord& job);
  void end(JobRecord& job, EventKind kind, const std::string& reason);
  void come_back(JobRecord& job, EventKind kind, const std::string& why);
  void leave_array(const JobRecord& task, bool done);
  [[nodiscard]] Expected<Phase> end_of(JobNumber job_or_array) const;
  void settle_dependents(JobNumber ended, bool done);
  void release(JobRecord& job);
  void stop_for_good(JobRecord& job);
  void stop_run(const JobRecord& job);
  void carry_out(const LiveYard::Order& order);
  void launch(JobRecord& job);
  void wait_for_the_machine(JobRecord& job, const std::string& why);
  /// When its present run reaches its limit; never: it has none, or is on its way out.
  [[nodiscard]] Time limit_of(const JobRecord& job) const;
  void end_those_out_of_time();
  void compact();
  [[nodiscard]] LiveEvent event_of(const JobRecord& job, std::string kind, std::string details);
  void note(const JobRecord& job, std::string kind, std::string details = "{}");
  [[nodiscard]] JobRecord* known(JobNumber job);
  [[nodiscard]] Expected<PolicySpec> parse(const PolicyView& policy) const;
  [[nodiscard]] PolicyView with_given_settings(PolicyView policy) const;
  [[nodiscard]] std::vector<const JobRecord*> records() const;

  // --- What callers ask for (requests.cpp, views.cpp)
  // ----------------------------------------------
  [[nodiscard]] Answer<void> check(const Identity& who, const JobSpec& spec,
                                   std::size_t count) const;
  [[nodiscard]] Answer<void> check_dependencies(const Identity& who, const JobSpec& spec) const;
  [[nodiscard]] Answer<JobRecord> visible(const Identity& who, JobNumber job) const;
  [[nodiscard]] Answer<void> refuse_to_cancel(const Identity& who, JobNumber job) const;
  [[nodiscard]] std::string waits_by(const JobRecord& job) const;
  Answer<void> open_or_close(const Identity& who, const std::string& machine, bool open);
  [[nodiscard]] WhyAnswer why_waits(const JobRecord& job) const;
  [[nodiscard]] WhyAnswer why_held(const JobRecord& job) const;
  [[nodiscard]] std::string output_file(const JobRecord& job, const std::string& pattern,
                                        std::int32_t worker) const;
  [[nodiscard]] MachineView view(const Identity& who, MachineId machine) const;

  System& system_;
  Journal& journal_;
  Engine& engine_;
  YardmasterOptions options_;
  Time wall_at_start_, steady_at_start_;

  // Asked for, not yet taken in.
  std::mutex asked_mutex_;
  std::vector<Command> asked_;
  int wake_ = -1;  // an eventfd
  std::atomic<bool> ending_ = false;

  // The state; changed by the loop under this mutex, which it does not hold while it waits.
  mutable std::mutex state_mutex_;
  LiveYard yard_;
  PolicyView policy_;
  /// Those that have not ended, or whose end is not on disk yet. They agree with the yard after
  /// every change of it.
  std::map<JobNumber, JobRecord> jobs_;
  std::multimap<JobNumber, JobNumber> dependents_;  // jobs that wait for a job or an array
  ArraySlots arrays_;                               // of jobs_
  std::map<uid_t, std::size_t> unfinished_of_;      // jobs, by user
  std::set<MachineId> closed_;
  JobNumber last_number_ = 0;
  std::set<JobNumber> holding_;  // those of jobs_ that hold GPUs
  Time policy_wake_ = Time::never();
  Time no_decision_before_;      // a start has failed just now
  Duration after_failed_start_;  // so long, while they fail
  Time next_compaction_;
  bool decide_ = true;

  // What is not yet written down, and what follows when it is.
  std::set<JobNumber> changed_;
  std::vector<LiveEvent> happened_;
  std::vector<Act> acts_;
  std::int64_t last_sequence_ = 0;
  std::string last_failure_;     // of writing down, while it fails
  std::vector<JobNumber> over_;  // ended, to leave jobs_ once that is on disk

  // What is on disk and may be told.
  mutable std::mutex events_mutex_;
  std::condition_variable events_come_;
  std::deque<LiveEvent> recent_;
  std::int64_t published_ = 0;
  Time last_notice_;
  bool notice_due_ = false;
  Counters counters_;

  std::jthread loop_;
};

}  // namespace trainyard
