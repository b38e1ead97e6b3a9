// What a policy is made of, and how to add to it. Read this first; docs/extending.md has examples.
//
// A policy is either composed of stages, one for each question that a scheduler has to answer
// (StagedPolicy asks them in turn), or decides for many jobs at once: a joint policy; one of these
// may also leave some jobs to stages (policy/joint/market_and_stages.h). All are
// members of the registry and chosen by name; every member is a class with a constructor
//
//   Mine(const Params& params, PolicyContext& context)
//
// `params` has the values of the parameters that it declares, `context` all else that it may use.
//
// To add a member of a stage, say another order:
//
//   1. policy/order/newest.cpp: the class, and a function that describes it.
//
//        class Newest final : public OrderStage {
//         public:
//          using OrderStage::OrderStage;
//          [[nodiscard]] std::int64_t key(JobId job) const override {
//            return -yard_.job(job).submit.us;
//          }
//        };
//
//        Member<OrderStage> order_newest() {
//          return {{"newest", "the job that was submitted last goes first", "ours"},
//                  make_member<OrderStage, Newest>};
//        }
//
//   2. Its declaration in members.h, and its name in the list of its stage in registry.cpp.
//   3. policy/order/newest_test.cpp, and a section in docs/policies.md (a test looks for it).
//
// A joint policy is added in the same way: a class in policy/joint/ that derives from Policy
// (policy.h), which hears of all that happens in the yard and writes whole plans; and a function
// that gives a Member<Policy>. policy/joint/equal_split.cpp is one to begin with. `trainyard
// policies` and the suite of properties that hold under every policy (tests/property_test.cpp) find
// all members in the registry; a preset in registry.cpp gives a composition a name, which shell
// completion knows.
//
// What to keep to: no clock but the yard's, no I/O, and no randomness but a generator with
// context.seed(); the same events must give the same decisions. Lists that grow with the jobs are
// vectors by JobId. What a stage knows of jobs it learns from what it is told (on_phase and the
// others), which is also how it learns of jobs that ran before it was made.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "policy/economy/critical_jobs.h"
#include "policy/economy/gpu_price.h"
#include "policy/economy/overdue.h"
#include "policy/economy/worth.h"
#include "policy/estimator.h"
#include "policy/params.h"
#include "policy/patience.h"
#include "policy/policy.h"
#include "policy/queue.h"
#include "policy/reckoning.h"
#include "policy/trial_rights.h"
#include "yard/plan.h"
#include "yard/room.h"
#include "yard/yard.h"

namespace trainyard {

class OrderStage;

/// What holds for all members of a policy.
struct PolicySettings {
  std::uint64_t seed = 1;
  TrialRights::Limit trial_limit = {};
  std::string estimates = "declared";  // see policy/estimator.h
  double error = 0;
  Patience::Bounds patience = {};
  double overdue_share = 1;  // of the GPU time
  double trial_worth = 1;
  bool has_critical = false;
  ReckoningListener* reckonings = nullptr;
};

/// What the members of a policy may use: each is given it when it is made, and keeps references to
/// what it asked for. Asking counts: what a policy regards of what users declare follows from it.
/// It hears of what happens in the yard before the members do.
class PolicyContext final : public YardListener {
 public:
  explicit PolicyContext(const Yard& yard, const PolicySettings& settings = {});

  // --- For the members -------------------------------------------------------------------------
  [[nodiscard]] const Yard& yard() const { return yard_; }
  /// For those that draw lots.
  [[nodiscard]] std::uint64_t seed() const { return settings_.seed; }
  /// How long a job may be passed by others: for joint policies, as that of stages is seen to.
  [[nodiscard]] Duration patience() const { return settings_.patience.limit; }
  /// The same, job by job, of jobs that go through stages.
  [[nodiscard]] const Overdue& overdue() const { return overdue_; }
  void name_overdue(JobId job) { overdue_.name(job); }
  [[nodiscard]] Duration wait_limit() const { return patience_.limit(); }
  /// What to believe of the time that jobs have left.
  [[nodiscard]] const Estimator& estimates();
  /// Says that the member goes by what jobs declare (Yard::estimate and what follows from it),
  /// whatever the policy believes otherwise.
  void heed_declared_times() { regards_.estimates = true; }
  /// Which jobs act as trial jobs. When that of a waiting job changes it is queued anew.
  [[nodiscard]] const TrialRights& rights();
  /// The order stage; it is made before all others.
  [[nodiscard]] const OrderStage& order() const { return *order_; }
  /// What a second of a job is worth. A job whose worth changes while it waits, but for becoming
  /// overdue, is queued anew.
  [[nodiscard]] const Worth& worth();
  /// What it costs the jobs that wait if a GPU stands still.
  [[nodiscard]] const GpuPrice& gpu_price();
  /// Those that wait for stages, beside which a joint policy decides; null: it decides alone.
  [[nodiscard]] const Queue* queue() const { return queue_; }
  /// Keeps what pausing others for this job is expected to gain, until its room is made, and
  /// notifies the listener.
  void tell(JobId waiter, const PauseReckoning& reckoned) {
    reckoned_[waiter] = reckoned;
    if (settings_.reckonings != nullptr) settings_.reckonings->on_reckoning(waiter, reckoned);
  }

  // --- For who makes them ----------------------------------------------------------------------
  void set_order(const OrderStage& order) { order_ = &order; }
  void set_queue(const Queue& queue) { queue_ = &queue; }
  [[nodiscard]] const Regards& regards() const { return regards_; }
  /// False: no member asked for anything that follows what happens in the yard.
  [[nodiscard]] bool has_to_listen() const {
    return uses_estimator_ || regards_.classes || uses_gpu_price_ || overdue_.any();
  }
  /// Brings rights and beliefs up to now.
  void refresh();
  /// When refresh will next have something to change.
  [[nodiscard]] Time next_change() const;
  /// Appends the waiting jobs whose right has changed since the last call.
  void take_changed(std::vector<JobId>& changed) {
    if (changed_.empty()) return;
    changed.insert(changed.end(), changed_.begin(), changed_.end());
    changed_.clear();
  }
  /// The running jobs that something else is believed of since the last call.
  [[nodiscard]] std::vector<JobId> take_outlooks() { return std::exchange(outlooks_, {}); }
  /// "is believed to take another 2h (it declares 12h; ...)"; empty where only what it declares is.
  [[nodiscard]] std::string belief_of(JobId job) const;
  /// "each of its seconds counts 100 times, as it acts as a trial job"; empty for an ordinary job.
  [[nodiscard]] std::string worth_of(JobId job) const;
  /// What its pauses are expected to gain, while the job's room is being made; empty otherwise.
  [[nodiscard]] std::string gain_of(JobId job) const;
  /// What members asked for of it has learnt.
  void save_learnt(Learnt& learnt) const;
  void recall(const Learnt& learnt, Time now);
  void recall_jobs(const Learnt& learnt);
  void on_phase(JobId job, Phase from, Phase to) override;
  void on_estimate(JobId job) override;
  void on_rate(JobId job) override;

 private:
  /// Something else is believed of the time that the job has left.
  void believe_anew(JobId job);

  const Yard& yard_;
  PolicySettings settings_;
  std::unique_ptr<Estimator> estimator_;
  TrialRights rights_;
  Backlog backlog_;
  CriticalJobs critical_;
  Patience patience_;
  Overdue overdue_;
  Worth worth_;
  GpuPrice gpu_price_;
  const OrderStage* order_ = nullptr;
  const Queue* queue_ = nullptr;
  Regards regards_;
  bool uses_estimator_ = false, uses_backlog_ = false, uses_critical_ = false;
  bool uses_gpu_price_ = false;
  std::vector<JobId> changed_;
  std::vector<JobId> outlooks_;
  std::unordered_map<JobId, PauseReckoning> reckoned_;  // of jobs whose room is being made
};

/// What all stages have in common: the yard, and that they are told what happens in it.
class Stage {
 public:
  Stage(const Params& /*params*/, PolicyContext& context) : yard_(context.yard()) {}
  virtual ~Stage() = default;
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;

  /// Called before the queue takes note of the change.
  virtual void on_phase(JobId /*job*/, Phase /*from*/, Phase /*to*/) {}
  /// What a job has left, how fast it goes, or what it costs to pause it, has changed.
  virtual void on_outlook(JobId /*job*/) {}
  /// A job that runs has told how good it is by now.
  virtual void on_learnt(JobId /*job*/, const LearningPoint& /*point*/) {}
  /// A machine went down, was closed, or came up.
  virtual void on_machine(MachineId /*machine*/) {}

  /// What it has learnt, for the next that is made like it (policy/learnt.h), which takes it up
  /// `now` (Policy::recall).
  virtual void save_learnt(Learnt& /*learnt*/) const {}
  virtual void recall(const Learnt& /*learnt*/, Time /*now*/) {}
  /// What was known of single jobs, once the yard has taken them up (Policy::recall_jobs).
  virtual void recall_jobs(const Learnt& /*learnt*/) {}

 protected:
  const Yard& yard_;
};

/// Who is next?
class OrderStage : public Stage {
 public:
  using Stage::Stage;

  /// The job's place among those that wait: smaller goes first, ties by submission.
  [[nodiscard]] virtual std::int64_t key(JobId job) const = 0;

  /// Coarse priority, for preemption by level: 0 is best.
  [[nodiscard]] virtual int level(JobId /*job*/) const { return 0; }

  /// Whether ever new jobs can overtake a waiting one. If so the policy's patience bounds it.
  [[nodiscard]] virtual bool can_starve() const { return true; }

  /// Brings time-dependent keys and levels up to now; lists the jobs whose key or level changed.
  virtual void refresh(std::vector<JobId>& /*changed*/) {}
  /// When refresh will next have something to change.
  [[nodiscard]] virtual Time next_change() const { return Time::never(); }

 protected:
  /// Since when it waits: a job that runs, and competes anew, since now.
  [[nodiscard]] Time waiting_since(JobId job) const {
    const JobState& state = yard_.state(job);
    return state.phase == Phase::running ? yard_.now() : state.since;
  }
};

/// Machines that a search must leave alone.
using Avoid = std::vector<bool>;

/// Where?
class PlaceStage : public Stage {
 public:
  using Stage::Stage;

  /// Room for the job on what is free now. False when there is none it accepts.
  virtual bool find(JobId job, const Avoid* avoid, Placement& out) = 0;

  /// Jobs of a lane are alike to the stage: where one finds no room, none does until something is
  /// freed. Changes only with refresh().
  [[nodiscard]] virtual LaneId lane(JobId job) const {
    return LaneId{static_cast<std::uint32_t>(yard_.state(job).shape)};
  }

  /// How far it would let the job be spread out, wherever that is.
  [[nodiscard]] virtual Reach reach(JobId job) const { return {yard_.shape(job).workers}; }

  /// A job that runs competes anew, as if it came to the queue now: what it would accept is asked
  /// for next.
  virtual void on_rebid(JobId /*job*/) {}

  /// Brings what depends on time up to now; lists the waiting jobs whose lane changed.
  virtual void refresh(std::vector<JobId>& /*changed*/) {}
  /// When refresh will next have something to change.
  [[nodiscard]] virtual Time next_change() const { return Time::never(); }

  /// What the job holds out for, if it declines room that there is; for the person who waits.
  [[nodiscard]] virtual std::string holds_out_for(JobId /*job*/) const { return {}; }
};

/// Which jobs give way?
class PreemptStage : public Stage {
 public:
  using Stage::Stage;

  /// Looks for jobs whose leaving makes room for the waiter, and leaves room and victims in the
  /// finder. When it finds none it may lower `retry` to a time when it could succeed.
  virtual bool make_room(JobId waiter, Reach reach, RoomFinder& finder, Time& retry) = 0;

  // To tell in no time that make_room would fail, for the thousands that wait in vain.
  /// How strong a waiting job's claim on the room of others is, for as long as it waits: of two
  /// jobs, the one with the smaller claim may pause all that the other may. kNoClaim: none at all.
  static constexpr std::int64_t kNoClaim = std::numeric_limits<std::int64_t>::max();
  [[nodiscard]] virtual std::int64_t claim(JobId /*waiter*/) const { return 0; }
  /// False: all that might be paused for a job of this claim hold fewer GPUs than that.
  [[nodiscard]] virtual bool could_free(std::int64_t /*claim*/, std::int64_t /*gpus*/) {
    return true;
  }
  /// A number that stays as long as what failed for a job that never gave way fails for all of its
  /// lane whose claim is no stronger, unless something is freed; 0: that cannot be told.
  [[nodiscard]] virtual std::uint64_t state() { return 0; }
  /// Asked after make_room failed, or could only have failed: lowers `retry` to when jobs that are
  /// protected now may be paused, by a claim like that, for this job, or for one that never gave
  /// way (kNoJob).
  virtual void find_retry(JobId /*waiter*/, std::int64_t /*claim*/, Time& /*retry*/) {}

  /// The order stage moved a running job to another level.
  virtual void on_level(JobId /*job*/) {}

  // Jobs that run and compete anew, whoever waits.
  /// Appends those that give all that they hold back now and bid for room with those that wait, in
  /// the order of all; each stays, moves or queues. The yard lets them be paused.
  virtual void take_rebids(std::vector<JobId>& /*jobs*/) {}
  /// Whether those leave before they bid, even for the very room that they held.
  [[nodiscard]] virtual bool leaves_before_rebid() const { return false; }
  /// Appends those that move if a closer room is free, before any job that waits has it, and else
  /// stay where they are. The yard lets them be paused.
  virtual void list_movers(std::vector<JobId>& /*jobs*/) {}
  /// When there will next be one of either kind that was not there before.
  [[nodiscard]] virtual Time next_rebid() const { return Time::never(); }
};

/// Whose bytes go first? Every job that holds GPUs is in a flow class (yard/event.h).
class FlowStage : public Stage {
 public:
  using Stage::Stage;

  /// The class of a job that holds GPUs, or of one that is about to start.
  [[nodiscard]] virtual FlowClass flow(JobId job) const = 0;

  /// What else it asks of the network; asked once.
  [[nodiscard]] virtual FlowRules rules() const { return {}; }

  /// Called at the end of every decision. Lists the jobs whose class may have changed since,
  /// by what the stage was told or by time; those that hold no GPUs do not matter.
  virtual void refresh(std::vector<JobId>& /*changed*/) {}
  /// When refresh will next have something to change, if nothing happens until then.
  [[nodiscard]] virtual Time next_change() const { return Time::never(); }
  /// Why a job has its class, for people: "2nd of the 5 jobs that send; ..."; empty if it does not
  /// send.
  [[nodiscard]] virtual std::string why(JobId /*job*/) const { return {}; }
};

/// What a backfill stage works with: the queue behind a job that cannot start, and the means to
/// start others.
class Dispatcher {
 public:
  virtual ~Dispatcher() = default;
  [[nodiscard]] virtual const Queue& queue() const = 0;
  [[nodiscard]] virtual RoomFinder& finder() = 0;
  [[nodiscard]] virtual PlaceStage& place() = 0;
  /// True when jobs of this lane are known to find no room, by placement or preemption.
  [[nodiscard]] virtual bool is_closed(LaneId lane) const = 0;
  /// The first of a lane that might start, from this job on; kNoJob when there is none.
  [[nodiscard]] virtual JobId next_to_try(JobId from) = 0;
  /// Starts the job or begins to make room for it; else closes its lane.
  virtual bool try_start(JobId job) = 0;
  /// Starts the job if there is room as things are, on other machines than those to avoid.
  virtual bool try_place(JobId job, const Avoid* avoid) = 0;
};

/// Which jobs may go while the first in the queue cannot?
class BackfillStage : public Stage {
 public:
  using Stage::Stage;

  virtual void run(Dispatcher& dispatcher, JobId blocked) = 0;
  /// Whether ever new jobs can keep the first in the queue from starting.
  [[nodiscard]] virtual bool can_starve() const { return false; }
  /// Whether it keeps a place for the blocked job, so that others pass it only where they do not
  /// delay it.
  [[nodiscard]] virtual bool keeps_a_place() const { return false; }
  /// When the blocked head is to start at the latest, if a place is being kept for it.
  [[nodiscard]] virtual std::optional<Time> reserved_start(JobId /*head*/) const { return {}; }
};

/// What `trainyard policies` tells of a member.
struct MemberInfo {
  std::string name;
  std::string summary;
  std::string source;  // the paper or system it is from, or that it is ours
  std::vector<ParamSpec> params = {};
};

/// A member of a stage, or of the joint policies.
template <class Base>
struct Member {
  MemberInfo info;
  std::unique_ptr<Base> (*make)(const Params& params, PolicyContext& context);
};

template <class Base, class Mine>
std::unique_ptr<Base> make_member(const Params& params, PolicyContext& context) {
  return std::make_unique<Mine>(params, context);
}

}  // namespace trainyard
