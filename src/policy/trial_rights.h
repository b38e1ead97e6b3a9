// Who may act as a trial job: go before batch jobs, and pause them. A job's class is what its user
// says, so the right is bounded: what a user's trial jobs take by it is paid from an allowance of
// GPU time, and a user whose allowance is used up has batch jobs only, whatever they are called.
//
// An allowance grows by `share` of the user's equal part of the cluster (all GPUs over the users
// who have unfinished jobs), up to what `window` brings, and shrinks by the GPUs that trial jobs
// hold which got them as such. It may be overdrawn: a job that runs is left alone, but as long as
// what is left would not last for kAhead of all that is held, no further job has the right.
//
// Example: 80 GPUs, 10 users, share 0.25, window 1 h. A user's allowance grows by 2 GPU hours an
// hour, up to 2 GPU hours. From a full one he starts trial jobs of 4 GPUs: the first and the second
// (0.67 GPU hours would go in 10 min), a third (1.33 of 2); then 2 do not last for 10 min of 12
// GPUs, and the fourth waits like a batch job. After five minutes they end: 1 + 0.17 are left.
//
// Where no job has a user, in a trace that names none, there is nobody to bound, and no limit.
//
// Someone who calls all jobs trial jobs spends on long ones what short ones would have needed.
#pragma once

#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/sorted_list.h"
#include "policy/learnt.h"
#include "yard/yard.h"

namespace trainyard {

class TrialRights {
 public:
  static constexpr Duration kAhead = minutes(10);

  struct Limit {
    double share = 0;  // 0: no limit, every trial job has the right
    Duration window;
  };
  TrialRights(const Yard& yard, Limit limit);

  /// Of a job that waits: whether it has the right now. Of one that holds GPUs or has a room being
  /// made: whether it got them so.
  [[nodiscard]] bool acts_as_trial(JobId job) const {
    return index(job) < rights_.size() && rights_[index(job)];
  }

  /// Keeps the books. Lists the waiting jobs that gained or lost the right by it.
  void on_phase(JobId job, Phase from, Phase to, std::vector<JobId>& changed);
  /// The same for what the time that has passed changed.
  void refresh(std::vector<JobId>& changed);
  /// When refresh will next have something to change, if nothing happens until then.
  [[nodiscard]] Time next_change() const;

  /// Allowances by the names of users, and which jobs have the right.
  void save_learnt(Learnt& learnt) const;
  void recall(const Learnt& learnt, Time now);
  void recall_jobs(const Learnt& learnt);

 private:
  /// What is known of a user from before; to be kept until the user comes back.
  struct Kept {
    double allowance = 0;
    Time at;
    double grown = 0;
    bool has_right = true;
  };
  struct User {
    std::size_t unfinished = 0;  // jobs
    bool known = false;
    double allowance = 0;  // in GPU-microseconds, as of `at`
    Time at;
    double grown = 0;       // growth_ then
    std::int64_t held = 0;  // GPUs, by trial jobs that got them as such
    bool has_right = true;
    SortedList<JobId> waiting;  // trial jobs
  };

  User& user_of(JobId job);
  void join(User& user, UserId id);
  void advance();
  [[nodiscard]] bool is_limited() const;
  [[nodiscard]] double rate() const;
  [[nodiscard]] double full() const;
  [[nodiscard]] double allowance_now(const User& user) const;
  void settle(User& user);
  void update(User& user, std::vector<JobId>& changed);
  [[nodiscard]] static double needed(const User& user);
  [[nodiscard]] std::string name_of(std::size_t user) const;

  const Yard& yard_;
  Limit limit_;
  double growth_ = 0;  // of an allowance without bound since the beginning, up to as_of_
  Time as_of_;
  std::size_t active_ = 0;  // users with unfinished jobs
  std::vector<User> users_;
  SortedList<UserId> queuing_;                 // users with waiting trial jobs
  std::vector<bool> rights_;                   // by job
  std::map<std::string, Kept> kept_;           // by user
  std::unordered_map<JobId, bool> restoring_;  // rights of jobs, until all are restored
};

}  // namespace trainyard
