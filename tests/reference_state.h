// The reference's jobs and machines, and what happens to them. The books that yard/ keeps step by
// step are summed up here whenever they are asked for.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <vector>

#include "model/cluster.h"
#include "model/workload.h"
#include "reference_network.h"
#include "reference_place.h"
#include "reference_simulator.h"

namespace trainyard::reference {

using Jobs = std::vector<std::size_t>;

enum class Stage { absent, queued, reserved, starting, running, draining, done };

/// What shall become of a job that waits or runs: it goes there, or leaves.
struct Change {
  std::size_t job;
  std::optional<Spots> to;
};

/// When somebody has come to the queue: how long all GPUs need for what all jobs have left. When
/// one ended, or less is believed of it than before: for what is not left after all.
struct WorkNote {
  struct One {
    std::size_t job;
    Time submitted;
  };
  Time at;
  Duration work;               // that there is
  std::optional<One> less_of;  // so much less than before, and of this job alone
};

/// Of a job that left the queue when it was overdue and its turn had come.
struct Turn {
  Duration waited;
  Time until = Time::never();  // known when it runs
};

struct Train {  // a job in the yard
  Stage stage = Stage::absent;
  Time since;                                       // of the stage
  Duration least_left_then;                         // by belief or declaration, at that time
  Duration left_at_first;                           // believed, when it was submitted
  std::size_t notes_before = 0, starts_before = 0;  // work notes, and starts, until it entered that
  Time first_start = Time::never();
  Duration first_wait;  // until then
  Duration done;        // work that counts; while running, of earlier runs
  Duration waited;      // in earlier waits, and while its room was made
  Duration ran;         // time that it ran, in earlier runs
  Time renewed;         // when its lease last was
  Duration unsaved;     // while draining: work that a failure loses
  Duration estimate;
  // What jobs that finished let believe of it, where that counts: its whole work, as long as it has
  // done less than so much; and the most work that it was seen to have done.
  Duration believed, believed_until, outlived;
  bool is_told = false;  // it has said itself how much work it is
  Time started;          // when it last was given its place
  double pace = 1;       // time for a unit of work; while starting or running
  double pace_at_start = 1;
  double slowed = 1;           // by those that send over the same links, so many times
  std::size_t flow_class = 0;  // its bytes go before those of a larger one
  std::int64_t reports = 0;    // hundredths of its work that it has told of; while running
  /// While running: at which pace since when, all through the run.
  std::vector<std::pair<Time, double>> stretches;
  std::int64_t pauses = 0;
  Spots spots;                      // while reserved or later: where its workers are or will be
  std::vector<Resources> held;      // of each machine
  std::vector<std::size_t> filled;  // machines with its workers, as they were filled by delay
  std::optional<std::size_t> leaves_for;
  // Of a group of changes: the number of that for which it leaves, or in which its room is made.
  std::optional<std::size_t> leaves_for_group, room_in_group;
  Spots next_spots;                        // where a job goes that leaves to go elsewhere
  std::vector<Resources> next_held;        // what it has of that by now
  std::multiset<std::size_t> gave_way_to;  // those it was paused for, once for each pause

  // It acts as a trial job, or did when it last waited; when it came; and when it first started.
  bool is_trial = false, came_as_trial = false, started_as_trial = false;

  std::optional<Time> critical_since;  // since it last came to the queue
  std::optional<Turn> turn;            // since it last left it

  // What delay knows of it: how far apart it may be placed, and when to look at that again.
  std::size_t ready_tier = 0;
  Time ready_until = Time::never();

  // What 2D-LAS knows of it.
  std::size_t level = 0;
};

class State {
 public:
  State(const World& world, const Settings& settings);

  [[nodiscard]] const Job& job(std::size_t j) const { return workload_.jobs[j]; }
  /// Where its workers may run, and what each takes there (reference_terms.cpp).
  [[nodiscard]] Gang gang(std::size_t j) const;
  /// What a worker takes of a machine; none where it may not run.
  [[nodiscard]] std::optional<Resources> each_on(std::size_t j, std::size_t machine) const;
  /// What so many workers take together.
  [[nodiscard]] Resources taken(std::size_t j, std::size_t machine, std::int32_t workers) const {
    return each_on(j, machine).value_or(Resources{}) * workers;
  }
  [[nodiscard]] bool holds(std::size_t j) const;
  [[nodiscard]] bool is_skewed(std::size_t j) const;
  [[nodiscard]] Jobs in(Stage stage) const;

  /// Time passes, until when nothing changes.
  void go_on_to(Time next);
  /// The share of the GPU time that was held, of this week and the one before.
  [[nodiscard]] double recent_load() const;
  /// A longer wait in the queue is too long.
  [[nodiscard]] Duration wait_limit() const;
  [[nodiscard]] bool is_overdue(std::size_t j) const;
  /// True if it is overdue, and the next such job may go first (reference_worth.cpp).
  [[nodiscard]] bool is_due(std::size_t j) const { return is_overdue(j) && now >= next_turn; }
  /// True of the job whose turn it is.
  [[nodiscard]] bool goes_first(std::size_t j) const {
    return named == j && trains[j].stage == Stage::queued;
  }
  [[nodiscard]] bool has_turn(std::size_t j) const {
    return trains[j].turn && trains[j].turn->until > now;
  }

  [[nodiscard]] Resources free_on(std::size_t machine) const;
  [[nodiscard]] bool suits(std::size_t j, std::size_t machine) const;
  /// Where job j may go, and what is free there.
  [[nodiscard]] Free free_for(std::size_t j) const;

  [[nodiscard]] Duration expected_remaining(std::size_t j) const;
  [[nodiscard]] Time expected_end(std::size_t j) const;
  /// The same by what the policy believes (reference_belief.cpp).
  [[nodiscard]] Duration left(std::size_t j) const;
  [[nodiscard]] Time leaves_at(std::size_t j) const;
  void refresh_beliefs();
  [[nodiscard]] Time belief_ends(std::size_t j) const;
  /// How long all GPUs need for what is left of these jobs, by what is believed of them now
  /// (reference_backlog.cpp).
  [[nodiscard]] Duration work_of(const Jobs& jobs) const;
  [[nodiscard]] Duration all_work() const;
  void note_work();
  void note_less(std::size_t j, Duration before);
  /// Of a job that waits: whether it alone decides when all work is done.
  [[nodiscard]] bool is_critical(std::size_t j) const;
  /// Whether it was found to, and no other has come since.
  [[nodiscard]] bool was_critical(std::size_t j) const {
    return trains[j].critical_since && *trains[j].critical_since > last_came();
  }
  [[nodiscard]] Time last_came() const;
  void revise(std::size_t j, Duration estimate);
  /// Which jobs act as trial jobs (reference_rights.cpp).
  [[nodiscard]] bool acts_as_trial(std::size_t j) const { return trains[j].is_trial; }
  void refresh_rights();
  [[nodiscard]] Time rights_change() const;
  /// The part of its work that it has done, time that it has run, and that times its GPUs.
  [[nodiscard]] Duration work_done(std::size_t j) const;
  [[nodiscard]] Duration attained(std::size_t j) const;
  [[nodiscard]] std::int64_t service(std::size_t j) const;
  /// When it will have loaded, finished or drained by itself.
  [[nodiscard]] Time next_of(std::size_t j) const;

  /// When a job that learns will next tell of it, which it does after every hundredth of its work.
  [[nodiscard]] Time next_report(std::size_t j) const;

  void submit(std::size_t j);
  void start(std::size_t j, const Spots& spots);
  void reserve(std::size_t j, const Spots& spots, const Jobs& victims);
  /// All at once: those that leave hand what they held to those that arrive.
  void change(const std::vector<Change>& changes);
  /// Time that it has run.
  [[nodiscard]] Duration ran(std::size_t j) const;
  /// What next_of() announced happens.
  void progress(std::size_t j);
  void fail_machine(std::size_t machine);
  void repair_machine(std::size_t machine) { up[machine] = true; }
  /// What is on the machine goes so many times as fast as usual.
  void set_speed(std::size_t machine, double speed);
  /// Every job goes on as fast as its machines and those that share its links let it.
  void refresh_paces();
  /// Time for a unit of its work, on machines as they are now with nobody beside it; and in a place
  /// that is typical of those that span a machine, a rack or more (reference_usual.cpp).
  [[nodiscard]] double pace_on(std::size_t j, const Spots& spots) const;
  [[nodiscard]] double pace_at(std::size_t j, std::size_t tier) const;
  /// The time for a unit of its work where jobs of as many GPUs usually find room, by the first so
  /// many starts, over that in a place like this one, less 1.
  [[nodiscard]] double usually_slower(std::size_t j, const Spots& spots, std::size_t starts) const;
  /// What next_report() announced.
  LearningPoint take_point(std::size_t j);

  const World world;
  const Settings& set;
  const Cluster& cluster;

  Time now;
  std::vector<Train> trains;
  std::vector<bool> up;
  std::vector<double> speeds;  // of machines
  Jobs queued_now;             // entered the queue since the policy last looked
  std::vector<WorkNote> work_notes;
  Time next_turn;                    // of an overdue job
  std::optional<std::size_t> named;  // whose turn it is
  bool has_come = false;             // somebody, to the queue, since the last note of all work
  struct Start {
    std::size_t job;
    Spots spots;
  };
  std::vector<Start> starts;  // so far
  struct Wait {
    std::size_t job;
    Duration time;
    std::size_t tier;  // of the room that it had then
  };
  std::vector<Wait> waits;   // in the queue, that are over
  bool is_residual = false;  // what to believe of jobs, from those that finished
  Jobs finished;             // in the order in which they were learnt from
  /// Which jobs are alike, the narrowest first: how narrow, whose, and the octave of what they
  /// declare; and of how many that finished each such class tells.
  using AlikeKey = std::tuple<int, double, double>;
  std::map<AlikeKey, std::size_t> told_of;
  [[nodiscard]] AlikeKey alike(std::size_t j, int width) const;
  [[nodiscard]] Jobs finished_alike(const AlikeKey& key) const;
  Jobs just_finished;     // since the policy last decided
  double flow_floor = 0;  // the share of a link that the last class on it keeps

 private:
  void believe(std::size_t j);
  void note_turn(std::size_t j, Stage from, Stage to);
  void enter(std::size_t j, Stage stage);
  void note_left(std::size_t j);
  [[nodiscard]] bool are_rights_limited() const;
  [[nodiscard]] double allowed_gpus() const;
  [[nodiscard]] double held_by_right(UserId user) const;
  [[nodiscard]] std::set<UserId> users_who_wait() const;
  void spend_allowances(Duration time);
  [[nodiscard]] double most_allowed() const;
  void cap_allowance(UserId user);
  void judge(UserId id);
  void note_right(std::size_t j, Stage from, Stage to);
  void queue(std::size_t j);
  void begin_start(std::size_t j);
  void note_filled(std::size_t j, bool rack_by_rack);
  [[nodiscard]] std::vector<Resources> free_of(std::size_t j, const Spots& spots) const;
  void pause(std::size_t j);
  void hand_over(std::size_t group, std::size_t machine, Resources freed);
  void start_complete(std::size_t group);
  void queue_or_move(std::size_t j);
  void vacate(std::size_t j);
  void void_reservation(std::size_t j);
  void fall_back(std::size_t j);
  [[nodiscard]] bool takes(std::size_t j, const std::string& kind) const;
  [[nodiscard]] const ModelProfile* model_of(std::size_t j) const;
  [[nodiscard]] double kind_pace(std::size_t j, const Spots& spots) const;
  [[nodiscard]] Iteration iteration(std::size_t j, const Spots& spots) const;
  void find_slowed();
  [[nodiscard]] Time end_of(std::size_t j, Duration work) const;

  const Workload& workload_;
  struct Passed {
    Time from, to;
    std::int64_t held_gpus;
  };
  std::vector<Passed> passed_;  // since the first submission
  struct User {
    double allowance = 0;  // in GPU-microseconds
    bool has_right = true;
  };
  std::map<UserId, User> users_;  // who have had jobs
  std::size_t groups_ = 0;        // of changes, so far
};

}  // namespace trainyard::reference
