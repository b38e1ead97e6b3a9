// The yard: the state of the cluster and of every job in it. Events report what happened, a Plan
// says what shall happen; nothing else changes it, and it checks both. Policies read it, engines
// carry out its orders. Not thread-safe: one thread at a time, as everything that decides.
//
// What holds after every call, whatever a policy asked for:
//  1. No GPU, CPU or byte of memory is held twice, and no machine that is down holds any; one that
//     is closed gives none away.
//  2. A gang is whole: a job that holds GPUs holds all of its workers, on machines of its kind that
//     have the features it asks for, and with each machine's share; an elastic job, as many as it
//     was started with. (What runs stays where a machine changes under it over a restore.)
//  3. Nothing is paused by itself but to make room, and only if the waiting gang then fits. It gets
//     exactly that room: what is free of it is held from then on, the rest as the paused jobs
//     leave. A group of changes (change.h) fits as a whole, and may pause and move jobs as it
//     likes.
//  4. Nothing is paused before it ran for rules.min_run, nor more than rules.max_pauses times; what
//     goes on elsewhere, or with another size, may leave after rules.min_stay already. A job that
//     made room for another gets room by pausing that other only when the other has run for
//     rules.turn since it last loaded; for twice as long if it made room for it twice, and so on.
//     So two jobs take turns ever more rarely, yet neither has to wait for all of the other's work.
//     In a group of changes the plan says in whose favour a job leaves; where it names nobody there
//     are no turns.
//  5. Books balance: for every job, time held = work done + time lost + time slowed down. Work is
//     done at a rate that may change while a job runs; what was done before stays done.
// A job's demand with its class and kind is its Shape; jobs of one shape are alike to every
// placement, so what failed for one fails for all of them until something is freed.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "model/cluster.h"
#include "model/job.h"
#include "model/placement.h"
#include "model/workload.h"
#include "perf/placement_speed.h"
#include "yard/change.h"
#include "yard/event.h"
#include "yard/free_index.h"
#include "yard/job_state.h"
#include "yard/saved_job.h"
#include "yard/shape.h"
#include "yard/turns.h"

namespace trainyard {

struct YardRules {
  Duration min_run = minutes(1);  // since it last loaded
  Duration turn = hours(1);       // the same, of who is paused for a job that made room for it
  std::uint32_t max_pauses = 100'000;
  Duration min_stay = minutes(1);  // as min_run, of what moves; never longer than that
};

/// Told of every change right after it was made. Policies keep their indexes in step with it.
class YardListener {
 public:
  virtual ~YardListener() = default;
  /// Where a job was that has just left its machines can still be asked for during this call.
  virtual void on_phase(JobId job, Phase from, Phase to) = 0;
  virtual void on_machine(MachineId /*machine*/, bool /*up*/) {}
  /// A job that holds GPUs goes on at another rate.
  virtual void on_rate(JobId /*job*/) {}
  /// A job that holds GPUs, or whose room is being made, goes on in another flow class.
  virtual void on_flow(JobId /*job*/) {}
  /// More of the room that is being made for the job is there, or somebody else leads those for
  /// whom it is made, or for whom the job leaves.
  virtual void on_room(JobId /*job*/) {}
  /// Something else is believed of a job that has not ended: its work, or what a pause costs.
  virtual void on_estimate(JobId /*job*/) {}
  /// A job that runs has told how good it is by now.
  virtual void on_learnt(JobId /*job*/, const LearningPoint& /*point*/) {}
};

class Yard {
 public:
  /// The jobs may grow while the yard lives (a live scheduler appends); each is known from its
  /// `submitted` event on. Cluster and workload must outlive the yard.
  /// `speed`, if given, is the engine's: how fast a job begins to run where; without it, everywhere
  /// as its duration says.
  Yard(const Cluster& cluster, const Workload& workload, YardRules rules = {},
       const PlacementSpeed* speed = nullptr);

  Yard(const Yard&) = delete;
  Yard& operator=(const Yard&) = delete;

  void listen(YardListener& listener) { listeners_.push_back(&listener); }

  // --- What happened -------------------------------------------------------------------------
  [[nodiscard]] Verdict apply(const Event& event);

  // --- Over the end of a process ---------------------------------------------------------------
  /// All that is to be known of the job, to be given to another yard.
  [[nodiscard]] SavedJob save(JobId job) const;
  /// Takes up jobs, by number, that another yard saved, on machines that are all up; this one must
  /// have none yet. Listeners are told how each came into its phase, as if it had been at the
  /// instant when that phase began. Orders are not repeated.
  [[nodiscard]] Verdict restore(std::span<const SavedJob> jobs);
  /// The same of one more job, the next by number, that is queued, or holds GPUs that are free.
  [[nodiscard]] Verdict take_up(JobId job, const SavedJob& saved);
  /// The engine chose other GPUs of the same machines than were ordered, of each share. Jobs that
  /// do not run yet, and had been given some of those, get the others in their stead.
  [[nodiscard]] Verdict renumber(JobId job, std::span<const std::vector<std::int32_t>> gpus);

  // --- What the engine is to do since it last asked -------------------------------------------
  [[nodiscard]] std::span<const Order> orders() const { return orders_; }
  void clear_orders() { orders_.clear(); }

  // --- What is the case ----------------------------------------------------------------------
  [[nodiscard]] Time now() const { return now_; }
  [[nodiscard]] const Cluster& cluster() const { return cluster_; }
  [[nodiscard]] const Workload& workload() const { return workload_; }
  [[nodiscard]] const YardRules& rules() const { return rules_; }
  [[nodiscard]] const FreeIndex& free() const { return free_; }
  [[nodiscard]] std::int64_t held_gpus() const { return held_gpus_; }
  /// What has been submitted so far, and how many of those have not ended.
  [[nodiscard]] std::size_t jobs() const { return states_.size(); }
  [[nodiscard]] std::size_t unfinished() const { return unfinished_; }

  [[nodiscard]] const Job& job(JobId id) const { return workload_.jobs[index(id)]; }
  [[nodiscard]] const JobState& state(JobId id) const { return states_[index(id)]; }
  [[nodiscard]] const Shape& shape(JobId id) const { return shapes_[state(id).shape]; }
  [[nodiscard]] const Shapes& shapes() const { return shapes_; }
  /// Where it is, or where its room is being made.
  [[nodiscard]] const Placement& placement(JobId id) const { return runs_[state(id).run].shares; }
  /// How fast a job that holds GPUs does its work, or will when it has loaded.
  [[nodiscard]] Rate rate(JobId id) const { return runs_[state(id).run].rate; }
  /// In which class a job that holds GPUs sends its bytes; or will, when its room has been made.
  [[nodiscard]] FlowClass flow(JobId id) const { return runs_[state(id).run].flow; }
  /// The work that it has done by now, of what counts; or by an earlier instant of its run, since
  /// its rate last changed.
  [[nodiscard]] Duration work_done(JobId id) const { return work_done(id, now_); }
  [[nodiscard]] Duration work_done(JobId id, Time at) const {
    if (state(id).phase != Phase::running) return state(id).done;
    const RunProgress run = booked(id);
    return progress_at(run, job(id), std::max(at, run.at)).done;
  }
  /// When a job that starts or runs will have done so much work in all, if nothing changes.
  [[nodiscard]] Time end_of(JobId id, Duration work) const;
  /// Which of the machine's GPUs it holds for share i of its placement, in order.
  [[nodiscard]] std::vector<std::int32_t> gpus(JobId id, std::size_t i) const;
  /// How many workers it has, or has room for; of a job that waits, those it has unless a policy
  /// says otherwise.
  [[nodiscard]] std::int32_t workers(JobId id) const {
    const Phase phase = state(id).phase;
    const bool is_placed = holds_gpus(phase) || phase == Phase::reserved;
    return is_placed ? runs_[state(id).run].workers : shape(id).workers;
  }
  /// How many GPUs they have; of a job that waits, the fewest that they can have.
  [[nodiscard]] std::int32_t gpus(JobId id) const {
    const Phase phase = state(id).phase;
    const bool is_placed = holds_gpus(phase) || phase == Phase::reserved;
    return is_placed ? runs_[state(id).run].gpus : shape(id).gpus();
  }
  /// What each worker of share i of its placement has, or will have when its room has been made.
  [[nodiscard]] const Resources& each(JobId id, std::size_t i) const {
    return each(runs_[state(id).run], i);
  }
  /// What all workers of share i have together.
  [[nodiscard]] Resources held(JobId id, std::size_t i) const {
    return each(id, i) * placement(id)[i].workers;
  }
  /// For whom a draining job leaves; kNoJob for all others. Where rooms are made for several at
  /// once, the job that leads them.
  [[nodiscard]] JobId making_room_for(JobId id) const {
    return state(id).phase == Phase::draining ? runs_[state(id).run].room_for : kNoJob;
  }
  /// The one that leads those for whom rooms are made together with this job's, which may be
  /// itself; kNoJob if no room is being made for it.
  [[nodiscard]] JobId lead_of(JobId id) const {
    return room_of(id) == kNoRun ? kNoJob : runs_[room_of(id)].lead;
  }
  /// The jobs that leave to run elsewhere, and where: what is free there is kept for them.
  [[nodiscard]] std::span<const JobId> moving() const { return moving_; }
  [[nodiscard]] const Placement& next_placement(JobId id) const {
    return runs_[room_of(id)].shares;
  }
  [[nodiscard]] std::vector<std::int32_t> next_gpus(JobId id, std::size_t i) const {
    return gpus_of(runs_[room_of(id)], i);
  }
  /// The jobs that hold GPUs there, or wait for a room that is being made there.
  [[nodiscard]] std::span<const JobId> jobs_on(MachineId machine) const {
    return jobs_on_[index(machine)];
  }

  /// Whether what this job holds counts as free for now (Plan::suppose_left).
  [[nodiscard]] bool is_supposed_gone(JobId id) const {
    return std::ranges::find(supposed_gone_, id) != supposed_gone_.end();
  }

  // --- What policies may know of the future ----------------------------------------------------
  /// Of its whole work, as it is believed now.
  [[nodiscard]] Duration estimate(JobId id) const {
    const Duration revised = this->revised(id).work;
    return revised.us < 0 ? job(id).estimate : revised;
  }
  /// From being told to leave until it has left.
  [[nodiscard]] Duration expected_pause(JobId id) const {
    const Duration revised = this->revised(id).pause;
    return revised.us < 0 ? job(id).expected_pause() : revised;
  }
  /// Work left by the job's estimate; at least 1 us, also when it has outlived its estimate.
  [[nodiscard]] Duration expected_remaining(JobId id) const {
    return expected_remaining(id, estimate(id));
  }
  /// When a job that holds GPUs would leave if nothing happened to it, by its estimate. While it
  /// runs this changes only with its rate and its estimate.
  [[nodiscard]] Time expected_end(JobId id) const { return expected_end(id, estimate(id)); }
  /// The same by another estimate of the whole job.
  [[nodiscard]] Duration expected_remaining(JobId id, Duration estimate) const;
  [[nodiscard]] Time expected_end(JobId id, Duration estimate) const;
  /// Time of work that counts; of the present run all the time since it loaded, checkpoints
  /// included.
  [[nodiscard]] Duration attained(JobId id) const;
  /// The same as GPU time, in GPU-microseconds: work counts for as many GPUs as the job has in the
  /// size for which its duration holds, the present run for those that it has.
  [[nodiscard]] std::int64_t attained_service(JobId id) const;

  /// The work of a job that runs that would have to be done again after a pause: none, unless it
  /// kept nothing when it was last paused.
  [[nodiscard]] Duration work_at_stake(JobId id) const {
    if (!state(id).lost_by_pause || state(id).phase != Phase::running) return {};
    const RunProgress now = progress(id);
    return now.done - now.saved;
  }
  /// How long it takes to load again after a pause.
  [[nodiscard]] Duration reload_time(JobId id) const {
    const Duration revised = this->revised(id).load;
    return revised.us < 0 ? job(id).load : revised;
  }
  /// How long it takes to load at its next start, or at the present one while it is starting.
  [[nodiscard]] Duration load_time(JobId id) const {
    if (job(id).first_start_loads) return reload_time(id);
    const JobState& state = this->state(id);
    const bool is_first = state.first_start == Time::never() ||
                          (state.phase == Phase::starting && state.since == state.first_start);
    return is_first ? Duration{} : reload_time(id);
  }

  /// How fast jobs run where; null: as their durations say.
  [[nodiscard]] const PlacementSpeed* speed() const { return speed_; }
  /// Rule 4: from when on the victim may be paused for the waiter, or for nobody in particular
  /// (kNoJob); Time::never() if never.
  [[nodiscard]] Time pausable_from(JobId victim, JobId waiter) const;
  /// The same: from when on a job may be moved or resized.
  [[nodiscard]] Time movable_from(JobId job) const;
  /// None of those that this job made room for may be paused for it before then. While the job
  /// waits this only grows.
  [[nodiscard]] Time no_turn_before(JobId waiter) const { return turns_.none_before(waiter); }
  /// Lowers `retry` to when the next of those may be.
  void find_turn(JobId waiter, Time& retry) const {
    if (no_turn_before(waiter) < retry) retry = std::min(retry, next_turn(waiter));
  }

 private:
  friend class Plan;

  static constexpr std::uint32_t kNoRun = std::numeric_limits<std::uint32_t>::max();

  struct Run {
    JobId job = kNoJob;
    std::int32_t workers = 0, gpus = 0;
    Placement shares;
    std::vector<Resources> each;           // of a worker of each share; empty: as the shape says
    std::vector<std::uint64_t> gpu_masks;  // of each share, gpu_words_ words
    // While its room is being made:
    std::vector<Resources> missing;         // of each share
    std::vector<std::uint32_t> by_machine;  // order of the shares (share_order.h)
    std::uint32_t lacking = 0;              // shares of which something is missing
    JobId lead = kNoJob;                    // stands for all whose rooms are made together
    std::vector<JobId> company;             // of the lead: the others, by number
    std::uint32_t leaving = 0;              // of the lead: jobs that still have to leave
    // While draining:
    JobId room_for = kNoJob;      // the lead of those who get the room
    std::uint32_t next = kNoRun;  // its own next room, if it moves
    // With the state's `done`, the run's progress (perf/run_progress.h).
    Time at;
    Duration saved, writing;
    Rate rate;
    Duration brought;  // work that was done before this run
    FlowClass flow = kFirstFlow;
  };

  // A plan's actions, checked.
  [[nodiscard]] Verdict start(JobId job, const Placement& placement, FlowClass flow);
  [[nodiscard]] Verdict make_room(JobId job, const Placement& room, std::span<const JobId> victims,
                                  FlowClass flow);
  [[nodiscard]] Verdict change(std::span<const JobChange> group);
  [[nodiscard]] Verdict set_flow(JobId job, FlowClass flow);
  void suppose_left(JobId job);
  void suppose_placed(JobId job, const Placement& there);
  void end_supposing();

  [[nodiscard]] Verdict check_victims(JobId job, std::span<const JobId> victims) const;
  [[nodiscard]] Verdict check_change(const JobChange& change) const;
  [[nodiscard]] Verdict check_rooms(std::span<const JobChange> group) const;
  [[nodiscard]] Verdict check_place(JobId job, const Placement& placement) const;
  [[nodiscard]] Verdict check_gang(JobId job, const Placement& placement) const;
  [[nodiscard]] Verdict check_room(JobId job, const Placement& room,
                                   std::span<const JobId> victims) const;

  Verdict happen(const Event& event);
  Verdict happen_to(JobId job, const Event& event);
  Verdict submit(JobId job);
  Verdict load(JobId job, Duration work);
  Verdict load_late(JobId job, Duration work);
  void take_back(JobId job, Duration work);
  Verdict finish(JobId job, Duration work);
  Verdict drain(JobId job);
  Verdict end_early(JobId job, Phase end);
  Verdict return_to_queue(JobId job);
  Verdict change_rate(JobId job, Rate rate);
  Verdict change_estimate(JobId job, const Estimate& estimate);
  Verdict learn(JobId job, const LearningPoint& point);
  Verdict take_down(MachineId machine);
  Verdict bring_up(MachineId machine);
  Verdict close(MachineId machine);
  void void_reservations(MachineId machine);

  [[nodiscard]] SavedRoom save(const Run& run) const;
  [[nodiscard]] Verdict check_saved(std::span<const SavedJob> jobs) const;
  [[nodiscard]] Verdict check_kind(JobId job) const;
  [[nodiscard]] Verdict check_chosen(JobId job,
                                     std::span<const std::vector<std::int32_t>> gpus) const;
  void exchange_gpus(Run& run, std::size_t share, std::span<const std::uint64_t> wanted);
  void resume(JobId job, const SavedJob& saved);
  static void keep_amounts(Run& run, const std::vector<Resources>& each);
  [[nodiscard]] std::uint32_t occupy(JobId job, const SavedRoom& saved, bool is_made);

  void enter(JobId job, Phase phase);
  void begin_start(JobId job);
  void begin_pause(JobId job, JobId lead, JobId in_favour_of);
  Verdict lose(JobId job);
  void fall_back(JobId job);
  void requeue(JobId job);

  [[nodiscard]] Time pausable_from(JobId victim, std::uint32_t turns_taken) const;
  [[nodiscard]] Time next_turn(JobId waiter) const;
  [[nodiscard]] RunProgress booked(JobId job) const;
  /// Of a job that runs, by now.
  [[nodiscard]] RunProgress progress(JobId job) const {
    return progress_at(booked(job), this->job(job), now_);
  }
  [[nodiscard]] Estimate revised(JobId job) const {
    return index(job) < revised_.size() ? revised_[index(job)] : Estimate{};
  }
  void book(JobId job, const RunProgress& now);
  void book_so_far(JobId job);
  [[nodiscard]] const Resources& each(const Run& run, std::size_t share) const {
    return run.each.empty() ? shape(run.job).per_worker : run.each[share];
  }
  std::uint32_t new_run(JobId job, const Placement& placement);
  void find_amounts(Run& run) const;
  Run& open_run(JobId job, const Placement& placement);
  void arrive(JobId job, std::uint32_t run);
  void close_run(JobId job);
  void take(Run& run, std::size_t share, const Resources& amount);
  void give_back(const Run& run, JobId lead);
  std::uint32_t release(JobId job);

  // Rooms that are being made (rooms.cpp).
  [[nodiscard]] std::uint32_t room_of(JobId job) const {
    if (state(job).phase == Phase::reserved) return state(job).run;
    return state(job).phase == Phase::draining ? runs_[state(job).run].next : kNoRun;
  }
  void keep_room(Run& room, JobId lead);
  void hand_over(JobId lead, MachineId machine, Resources freed);
  void start_ready(JobId lead);
  void leave_group(JobId job);
  void move_in(JobId job, std::uint32_t room);
  void give_up_next(JobId job);
  void void_reservation(JobId job);
  void tell_of_room(JobId job) {
    for (YardListener* listener : listeners_) listener->on_room(job);
  }
  [[nodiscard]] std::vector<std::int32_t> gpus_of(const Run& run, std::size_t share) const;

  const Cluster& cluster_;
  const Workload& workload_;
  YardRules rules_;
  const PlacementSpeed* speed_;
  Time now_{std::numeric_limits<std::int64_t>::min()};

  std::vector<JobState> states_;
  std::vector<Estimate> revised_;  // by job, as far as any was
  Shapes shapes_;
  std::vector<Run> runs_;
  std::vector<std::uint32_t> spare_runs_;
  std::vector<JobId> moving_;  // those with a room to go to, while they leave

  FreeIndex free_;
  std::vector<std::pair<MachineId, Resources>> supposed_;  // what is free beside what is, or not
  std::vector<JobId> supposed_gone_;
  std::size_t gpu_words_;  // of a machine's GPUs, a bit each: 1, unless some machine has over 64
  std::vector<std::uint64_t> free_gpus_;     // of each machine, gpu_words_ words
  std::vector<std::vector<JobId>> jobs_on_;  // of each machine
  mutable Turns turns_;  // those that have ended, and never matter again, go when they are met
  std::int64_t held_gpus_ = 0;
  std::size_t unfinished_ = 0;

  std::vector<Order> orders_;
  std::vector<YardListener*> listeners_;

  /// Of a check under way, kept as there is one for every pause.
  struct Scratch {
    std::vector<JobId> jobs;
    std::vector<MachineId> machines;
    std::vector<Resources> there;
  };
  mutable Scratch scratch_;
};

}  // namespace trainyard
