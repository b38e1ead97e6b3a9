// The running jobs in the order in which a preemption would rather see them leave: highest rank
// first, ties by who was submitted last.
//
// Those that the yard still protects, because they have not run for min_run, stand apart. They can
// be thousands, but few of them rank above a waiting job: they started while it waited.
#pragma once

#include <algorithm>
#include <vector>

#include "base/grow.h"
#include "base/sorted_list.h"
#include "policy/preempt/held_place.h"
#include "policy/preempt/newcomers.h"
#include "policy/preempt/offers.h"
#include "yard/yard.h"

namespace trainyard {

template <class Rank>
class Pausable {
 public:
  /// The job began to run; false: it may never be paused.
  void add(const Yard& yard, JobId job, Rank rank, bool is_pausable = true) {
    grow_to(ranks_, index(job), yard.workload().jobs.size());
    ranks_[index(job)] = rank;
    admit_newcomers(yard);
    if (!is_pausable || yard.state(job).pauses >= yard.rules().max_pauses) return;
    protected_.insert({rank, job, held_by(yard, job)});
    newcomers_.push({yard.now(), job}, rank);
  }

  /// It runs no longer.
  void remove(JobId job) {
    const Entry entry{ranks_[index(job)], job, {}};
    if (ready_.erase(entry)) {
      ++changes_;
    } else {
      protected_.erase(entry);
    }
  }

  void rerank(const Yard& yard, JobId job, Rank rank) {
    const Entry before{ranks_[index(job)], job, {}}, after{rank, job, held_by(yard, job)};
    ranks_[index(job)] = rank;
    if (ready_.erase(before)) {
      ready_.insert(after);
      ++changes_;
    }
    if (!protected_.erase(before)) return;
    protected_.insert(after);
    newcomers_.raise(yard.state(job).since, rank);
  }

  /// Those that have run for long enough by now are protected no longer. All that offer or count
  /// jobs begin with it.
  void admit_newcomers(const Yard& yard) {
    if (yard.rules().min_run == Duration::max()) return;
    for (; !newcomers_.empty(); newcomers_.pop_front()) {
      const Newcomer& first = newcomers_.front();
      if (protected_until(yard, first) > yard.now()) return;
      if (has_left(yard, first)) continue;
      const Entry entry{ranks_[index(first.job)], first.job, held_by(yard, first.job)};
      if (!protected_.erase(entry)) continue;
      ready_.insert(entry);
      ++changes_;
    }
  }

  /// Offers the jobs of more than this rank for which is_victim(job), until the waiter has room.
  template <class IsVictim>
  bool offer(const Yard& yard, Offers& offers, Rank above, IsVictim is_victim) {
    if (yard.rules().min_run == Duration::max()) return false;
    admit_newcomers(yard);
    ready_.each_reverse([&](const Entry& entry) {
      return above < entry.rank && (!is_victim(entry.job) || !offers.make(entry.job));
    });
    return offers.accepted();
  }

  /// Whether those that may be paused by now and whose rank is_enough(rank), which holds for all
  /// ranks above one for which it does, hold as many GPUs; lowers `gpus` by what they hold.
  template <class IsEnough>
  bool hold(const Yard& yard, std::int64_t& gpus, IsEnough is_enough) {
    if (yard.rules().min_run == Duration::max()) return false;
    admit_newcomers(yard);
    ready_.each_reverse([&](const Entry& entry) {
      if (!is_enough(entry.rank)) return false;
      gpus -= entry.place.gpus;
      return gpus > 0;
    });
    return gpus <= 0;
  }

  struct Entry {
    Rank rank{};
    JobId job = kNoJob;
    HeldPlace place;

    friend bool operator<(const Entry& a, const Entry& b) {
      return a.rank != b.rank ? a.rank < b.rank : a.job < b.job;
    }
  };

  /// Those that may be paused by now, the highest rank first.
  [[nodiscard]] typename SortedList<Entry>::Descent descent(const Yard& yard) {
    if (yard.rules().min_run == Duration::max()) return {};
    admit_newcomers(yard);
    return typename SortedList<Entry>::Descent(ready_);
  }

  /// A number that stays as long as a descent is valid, once newcomers are admitted.
  [[nodiscard]] std::uint64_t changes() const { return changes_; }

  /// Lowers `retry` to when the next may be paused for the waiter for which is_victim(job) and
  /// whose rank is_enough(rank), which holds for all ranks above one for which it does.
  template <class IsEnough, class IsVictim>
  void find_retry(const Yard& yard, JobId waiter, Time& retry, IsEnough is_enough,
                  IsVictim is_victim) const {
    if (yard.rules().min_run == Duration::max()) return;
    if (protected_.empty() || !is_enough(protected_.back().rank)) return;
    // By time, so that the first that would do is the one.
    newcomers_.each(is_enough, [&](const Newcomer& newcomer) {
      if (protected_until(yard, newcomer) >= retry) return false;
      if (is_enough(ranks_[index(newcomer.job)]) && !has_left(yard, newcomer) &&
          is_victim(newcomer.job))
        retry = std::min(retry, waiter == kNoJob ? protected_until(yard, newcomer)
                                                 : yard.pausable_from(newcomer.job, waiter));
      return true;
    });
  }

  template <class IsEnough>
  void find_retry(const Yard& yard, JobId waiter, Time& retry, IsEnough is_enough) const {
    find_retry(yard, waiter, retry, is_enough, [](JobId) { return true; });
  }

  /// Of a job that runs.
  [[nodiscard]] Rank rank(JobId job) const { return ranks_[index(job)]; }

 private:
  using Newcomer = typename Newcomers<Rank>::Newcomer;

  [[nodiscard]] Time protected_until(const Yard& yard, const Newcomer& newcomer) const {
    return newcomer.since + yard.rules().min_run;
  }

  /// Perhaps to come back, as another newcomer.
  static bool has_left(const Yard& yard, const Newcomer& newcomer) {
    const JobState& state = yard.state(newcomer.job);
    return state.phase != Phase::running || state.since != newcomer.since;
  }

  SortedList<Entry> ready_, protected_;
  std::uint64_t changes_ = 0;  // of those that are ready
  Newcomers<Rank> newcomers_;  // those that are protected, or were until they left
  std::vector<Rank> ranks_;    // by job
};

}  // namespace trainyard
