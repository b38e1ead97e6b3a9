// The running jobs in the order in which a preemption would rather see them leave: highest rank
// first, ties by who was submitted last.
//
// Those that the yard still protects, because they have not run for min_run, stand apart. They can
// be thousands, but few of them rank above a waiting job: they started while it waited.
#pragma once

#include <algorithm>
#include <deque>
#include <vector>

#include "base/grow.h"
#include "base/sorted_list.h"
#include "policy/preempt/offers.h"
#include "yard/yard.h"

namespace trainyard {

template <class Rank>
class Pausable {
 public:
  /// The job began to run.
  void add(const Yard& yard, JobId job, Rank rank) {
    grow_to(ranks_, index(job), yard.workload().jobs.size());
    ranks_[index(job)] = rank;
    admit_newcomers(yard);
    if (yard.state(job).pauses >= yard.rules().max_pauses) return;
    protected_.insert({rank, job});
    newcomers_.push_back({yard.now(), job});
  }

  /// It runs no longer.
  void remove(JobId job) {
    const Entry entry{ranks_[index(job)], job};
    if (!ready_.erase(entry)) protected_.erase(entry);
  }

  void rerank(JobId job, Rank rank) {
    const Entry before{ranks_[index(job)], job}, after{rank, job};
    ranks_[index(job)] = rank;
    if (ready_.erase(before)) ready_.insert(after);
    if (protected_.erase(before)) protected_.insert(after);
  }

  /// Offers the jobs of more than this rank for which is_victim(job), until the waiter has room. If
  /// they do not suffice, lowers `retry` to when the next of them may be paused.
  template <class IsVictim>
  bool offer(const Yard& yard, Offers& offers, Rank above, IsVictim is_victim) {
    if (yard.rules().min_run == Duration::max()) return false;
    admit_newcomers(yard);
    ready_.each_reverse([&](const Entry& entry) {
      return above < entry.rank && (!is_victim(entry.job) || !offers.make(entry.job));
    });
    if (offers.accepted()) return true;
    find_retry(
        yard, offers, [&](Rank rank) { return above < rank; }, is_victim);
    return false;
  }

  /// Calls visit(rank, job) for those that may be paused by now, the highest rank first, until it
  /// returns false.
  template <class Visit>
  void walk(const Yard& yard, Visit visit) {
    if (yard.rules().min_run == Duration::max()) return;
    admit_newcomers(yard);
    ready_.each_reverse([&](const Entry& entry) { return visit(entry.rank, entry.job); });
  }

  /// Lowers the offers' retry to when the next may be paused for whose rank is_enough(rank), which
  /// holds for all ranks above one for which it does.
  template <class IsEnough>
  void find_retry(const Yard& yard, Offers& offers, IsEnough is_enough) const {
    if (yard.rules().min_run == Duration::max()) return;
    find_retry(yard, offers, is_enough, [](JobId) { return true; });
  }

  /// Of a job that runs.
  [[nodiscard]] Rank rank(JobId job) const { return ranks_[index(job)]; }

 private:
  struct Entry {
    Rank rank{};
    JobId job = kNoJob;

    friend bool operator<(const Entry& a, const Entry& b) {
      return a.rank != b.rank ? a.rank < b.rank : a.job < b.job;
    }
  };
  struct Newcomer {
    Time since;
    JobId job = kNoJob;
  };

  [[nodiscard]] Time protected_until(const Yard& yard, const Newcomer& newcomer) const {
    return newcomer.since + yard.rules().min_run;
  }

  void admit_newcomers(const Yard& yard) {
    if (yard.rules().min_run == Duration::max()) return;
    for (; !newcomers_.empty(); newcomers_.pop_front()) {
      const Newcomer& first = newcomers_.front();
      if (protected_until(yard, first) > yard.now()) return;
      if (has_left(yard, first)) continue;
      const Entry entry{ranks_[index(first.job)], first.job};
      if (protected_.erase(entry)) ready_.insert(entry);
    }
  }

  /// By time, so that the first that would do is the one.
  template <class IsEnough, class IsVictim>
  void find_retry(const Yard& yard, Offers& offers, IsEnough is_enough, IsVictim is_victim) const {
    if (protected_.empty() || !is_enough(protected_.back().rank)) return;
    for (const Newcomer& newcomer : newcomers_) {
      if (protected_until(yard, newcomer) >= offers.retry()) return;
      if (is_enough(ranks_[index(newcomer.job)]) && !has_left(yard, newcomer) &&
          is_victim(newcomer.job))
        offers.retry_with(newcomer.job);
    }
  }

  /// Perhaps to come back, as another newcomer.
  static bool has_left(const Yard& yard, const Newcomer& newcomer) {
    const JobState& state = yard.state(newcomer.job);
    return state.phase != Phase::running || state.since != newcomer.since;
  }

  SortedList<Entry> ready_, protected_;
  std::deque<Newcomer> newcomers_;  // those that are protected, or were until they left; by time
  std::vector<Rank> ranks_;         // by job
};

}  // namespace trainyard
