// The clocks of delay scheduling (Dally): how far a waiting job may be spread out by now.
//
// A job first insists on one machine. When it has waited for T(1) since it last came to the queue
// it takes a rack too, after T(2) >= T(1) a group of racks, and so on up to any GPUs at all; with
// the usual three tiers these are the paper's T_rack and T_net. A demand too large for a tier
// begins at the first that can hold it. Once ready for a tier a job stays so until it is placed.
// Timers are wake-ups: the policy decides when one fires.
//
// Where the timers come from:
//   fixed      the two that are given; tiers between are spaced evenly
//   tuned      published: with est = mean + 2 deviations of the waits, in leases, of that demand
//              for placements of the tier below, within the last H leases (1 where there are none):
//              T(1) = min(ceil(0.8 H), max(6, ceil(est))), T(last) = min(H, max(12, ceil(est)));
//              for tiers between, ours: floor 6 times the tier, at most H
//   learnt     ours: a job holds out for a tier as long as what it would gain by it, (time for a
//              unit of work one tier up - time for one there) x its remaining work, is more than
//              it can expect to wait for it still, by a life table of the waits of that demand.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "base/sorted_list.h"
#include "policy/estimator.h"
#include "policy/job_at.h"
#include "policy/learnt.h"
#include "policy/place/wait_history.h"
#include "yard/yard.h"

namespace trainyard {

struct DelaySettings {
  enum class Timers { fixed, tuned, learnt } timers = Timers::tuned;
  double skew = 0;  // models whose largest tensor is no larger a part of them do not wait
  Duration rack_wait, net_wait;  // of fixed ones
  Duration lease;
  std::int64_t history = 0;  // H, in leases
};

class DelayClocks {
 public:
  /// Learnt timers go by these estimates; others need none.
  explicit DelayClocks(const DelaySettings& settings, const Estimator* estimates = nullptr)
      : set_(settings), estimates_(estimates) {}

  /// The tier that the waiting job is ready for, or one that bids anew.
  [[nodiscard]] std::size_t tier(JobId job) const { return jobs_[index(job)].tier; }
  /// Until when it holds out, for the present tier; never if it does not hold out for anything
  /// more.
  [[nodiscard]] Time until(JobId job) const;

  void on_phase(const Yard& yard, JobId job, Phase from, Phase to);
  /// A job that runs is ready for what it would be if it came to the queue now.
  void on_rebid(const Yard& yard, JobId job);
  /// Moves on the clocks; lists the jobs that became ready for another tier.
  void refresh(const Yard& yard, std::vector<JobId>& changed);
  [[nodiscard]] Time next_change() const;
  void save_learnt(const Yard& yard, Learnt& learnt) const;
  void recall(const Yard& yard, const Learnt& learnt, Time now);
  void recall_jobs(const Yard& yard, const Learnt& learnt);

 private:
  struct Clock {
    Time since;                // in the queue
    Time due = Time::never();  // when it is ready for the next tier
    std::uint8_t tier = 0;
  };
  /// What is known of jobs with so many GPUs.
  struct Demand {
    std::vector<WaitWindow> windows;  // by tier
    std::vector<LifeTable> tables;
  };

  Demand& demand_of(const Yard& yard, std::int32_t gpus);
  Demand& demand_of(const Yard& yard, JobId job) { return demand_of(yard, yard.job(job).gpus()); }
  [[nodiscard]] std::size_t lowest_tier(const Yard& yard, JobId job);
  [[nodiscard]] bool waits(const Yard& yard, JobId job) const;
  [[nodiscard]] Duration wait_for(const Yard& yard, JobId job, std::size_t tier);
  [[nodiscard]] Duration tuned_wait(const Yard& yard, JobId job, std::size_t tier);
  [[nodiscard]] Duration learnt_wait(const Yard& yard, JobId job, std::size_t tier);
  [[nodiscard]] Time begin(const Yard& yard, JobId job);
  [[nodiscard]] Time next_due(const Yard& yard, JobId job);
  void set_due(JobId job, Time due);
  void note_wait(const Yard& yard, JobId job);

  DelaySettings set_;
  const Estimator* estimates_;
  Time began_{std::numeric_limits<std::int64_t>::min()};  // who was placed until then is known
  std::vector<Clock> jobs_;
  SortedList<JobAt> due_;
  std::map<std::int32_t, Demand> demands_;  // by GPUs
  std::vector<std::uint8_t> lowest_;        // by shape; tier + 1, 0: not known yet
};

}  // namespace trainyard
