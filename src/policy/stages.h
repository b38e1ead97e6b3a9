// The stages a policy is composed of. Each answers one question, is chosen by name from the
// registry, and is useful with any choice of the others.
#pragma once

#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "policy/estimator.h"
#include "policy/queue.h"
#include "policy/reckoning.h"
#include "policy/trial_rights.h"
#include "yard/plan.h"
#include "yard/room.h"
#include "yard/yard.h"

namespace trainyard {

/// Who is next?
class OrderStage {
 public:
  virtual ~OrderStage() = default;

  /// The job's place among those that wait: smaller goes first, ties by submission.
  [[nodiscard]] virtual std::int64_t key(const Yard& yard, JobId job) const = 0;

  /// Coarse priority, for preemption by level: 0 is best.
  [[nodiscard]] virtual int level(JobId /*job*/) const { return 0; }

  /// Whether ever new jobs can overtake a waiting one. If so the policy's patience bounds it.
  [[nodiscard]] virtual bool can_starve() const { return true; }

  /// Called once, before anything else. True: the stage tells trial jobs from others by it, and the
  /// keys of waiting jobs change with their right.
  virtual bool use(const TrialRights& /*rights*/) { return false; }
  /// Likewise: what to believe of the time that jobs have left. True: what jobs declare matters.
  virtual bool use_estimates(const Estimator& /*estimates*/) { return false; }

  /// Brings time-dependent keys and levels up to now; lists the jobs whose key or level changed.
  virtual void refresh(const Yard& /*yard*/, std::vector<JobId>& /*changed*/) {}
  /// When refresh will next have something to change.
  [[nodiscard]] virtual Time next_change() const { return Time::never(); }

  /// Called before the queue takes note of the change.
  virtual void on_phase(const Yard& /*yard*/, JobId /*job*/, Phase /*from*/, Phase /*to*/) {}
};

/// Machines that a search must leave alone.
using Avoid = std::vector<bool>;

/// Where?
class PlaceStage {
 public:
  virtual ~PlaceStage() = default;

  /// Room for the job on what is free now. False when there is none it accepts.
  virtual bool find(const Yard& yard, JobId job, const Avoid* avoid, Placement& out) = 0;

  /// Jobs of a lane are alike to the stage: where one finds no room, none does until something is
  /// freed. Changes only with refresh().
  [[nodiscard]] virtual LaneId lane(const Yard& yard, JobId job) const {
    return LaneId{static_cast<std::uint32_t>(yard.state(job).shape)};
  }

  /// How far it would let the job be spread out, wherever that is.
  [[nodiscard]] virtual Reach reach(const Yard& yard, JobId job) const {
    return {yard.shape(job).workers};
  }

  /// Brings what depends on time up to now; lists the waiting jobs whose lane changed.
  virtual void refresh(const Yard& /*yard*/, std::vector<JobId>& /*changed*/) {}
  /// When refresh will next have something to change.
  [[nodiscard]] virtual Time next_change() const { return Time::never(); }

  /// Called before the queue takes note of the change.
  virtual void on_phase(const Yard& /*yard*/, JobId /*job*/, Phase /*from*/, Phase /*to*/) {}
  /// What the job holds out for, if it declines room that there is; for the person who waits.
  [[nodiscard]] virtual std::string holds_out_for(const Yard& /*yard*/, JobId /*job*/) const {
    return {};
  }
};

/// Who gives way?
class PreemptStage {
 public:
  virtual ~PreemptStage() = default;

  /// Looks for jobs whose leaving makes room for the waiter, and leaves room and victims in the
  /// finder. When it finds none it may lower `retry` to a time when it could succeed.
  virtual bool make_room(const Yard& yard, JobId waiter, Reach reach, RoomFinder& finder,
                         Time& retry) = 0;

  // To tell in no time that make_room would fail, for the thousands that wait in vain.
  /// How strong a waiting job's claim on the room of others is, for as long as it waits: of two
  /// jobs, the one with the smaller claim may pause all that the other may. kNoClaim: none at all.
  static constexpr std::int64_t kNoClaim = std::numeric_limits<std::int64_t>::max();
  [[nodiscard]] virtual std::int64_t claim(const Yard& /*yard*/, JobId /*waiter*/) const {
    return 0;
  }
  /// False: all that might be paused for a job of this claim hold fewer GPUs than that.
  [[nodiscard]] virtual bool could_free(const Yard& /*yard*/, std::int64_t /*claim*/,
                                        std::int64_t /*gpus*/) {
    return true;
  }
  /// A number that stays as long as what failed for a job that never gave way fails for all of its
  /// lane whose claim is no stronger, unless something is freed; 0: that cannot be told.
  [[nodiscard]] virtual std::uint64_t state(const Yard& /*yard*/) { return 0; }
  /// Asked after make_room failed, or could only have failed: lowers `retry` to when jobs that are
  /// protected now may be paused, by a claim like that, for this job, or for one that never gave
  /// way (kNoJob).
  virtual void find_retry(const Yard& /*yard*/, JobId /*waiter*/, std::int64_t /*claim*/,
                          Time& /*retry*/) {}

  virtual void on_phase(const Yard& /*yard*/, JobId /*job*/, Phase /*from*/, Phase /*to*/) {}
  /// Called once, before anything else. True: the stage tells trial jobs from others by it.
  virtual bool use(const TrialRights& /*rights*/) { return false; }
  /// Likewise: the order stage that it works with.
  virtual void use_levels_of(const OrderStage& /*order*/) {}
  /// Likewise: what to believe of the time that jobs have left. True: what jobs declare matters.
  virtual bool use_estimates(const Estimator& /*estimates*/) { return false; }
  /// What it reckoned when it found room for this job, if it was the last; none if it does not.
  [[nodiscard]] virtual std::optional<PauseReckoning> reckoning(JobId /*waiter*/) const {
    return {};
  }
  /// What a job has left, how fast it goes, or what it costs to pause it, has changed.
  virtual void on_outlook(const Yard& /*yard*/, JobId /*job*/) {}
  /// The order stage moved a running job to another level.
  virtual void on_level(const Yard& /*yard*/, JobId /*job*/) {}
  /// A machine went down, was closed, or came up.
  virtual void on_machine(const Yard& /*yard*/, MachineId /*machine*/) {}
};

/// What a backfill stage works with: the queue behind a job that cannot start, and the means to
/// start others.
class Dispatcher {
 public:
  virtual ~Dispatcher() = default;
  [[nodiscard]] virtual const Yard& yard() const = 0;
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

/// Who may go while the first in the queue cannot?
class BackfillStage {
 public:
  virtual ~BackfillStage() = default;
  virtual void run(Dispatcher& dispatcher, JobId blocked) = 0;
  virtual void on_phase(const Yard& /*yard*/, JobId /*job*/, Phase /*from*/, Phase /*to*/) {}
  /// A machine went down or came up.
  virtual void on_machine() {}
  /// What a job has left, or how fast it goes, has changed.
  virtual void on_outlook(const Yard& /*yard*/, JobId /*job*/) {}
  /// Whether what jobs declare of their time matters to it.
  [[nodiscard]] virtual bool uses_estimates() const { return false; }
  /// Whether ever new jobs can keep the first in the queue from starting.
  [[nodiscard]] virtual bool can_starve() const { return false; }
  /// When the blocked head is to start at the latest, if a place is being kept for it.
  [[nodiscard]] virtual std::optional<Time> reserved_start(JobId /*head*/) const { return {}; }
};

}  // namespace trainyard
