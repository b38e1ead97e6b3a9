// What a job gets that has waited for too long. A job is overdue when it has waited, since it last
// ran, for longer than the limit (patience.h). The one that has waited longest goes first, whatever
// it takes to make its room, and then has a quantum of time in which it is not paused. After that
// it is a job as any other, whose next wait begins when it is paused. Another overdue job that
// happens to start beside it takes no turn, and has no quantum.
//
// The price of this is bounded: overdue jobs take at most a given share of the cluster's GPU time
// from the jobs that would have had it otherwise. A job of g of all G GPUs that waited for w has
//
//   a quantum of                share / (1 - share) x w
//   and no other overdue job    goes first for w x g / G after that.
//
// Where the share is 1 a quantum has no end, and the next may begin at once: the bound on waits
// then costs whatever it costs.
//
// Example: the share is 1/65, and a job for half of the cluster has waited for 64 h. It runs for
// 1 h undisturbed, and for 32 h no other overdue job goes first: 1/64 of the time, on half of the
// GPUs, as it should be.
#pragma once

#include <algorithm>
#include <vector>

#include "base/grow.h"
#include "policy/patience.h"

namespace trainyard {

class Overdue {
 public:
  Overdue(const Yard& yard, const Patience& patience, double share)
      : yard_(yard), patience_(patience), share_(share) {}

  [[nodiscard]] bool any() const { return patience_.is_bounded(); }

  // --- Jobs that wait ----------------------------------------------------------------------------
  /// When the job came to the queue.
  [[nodiscard]] Time since(JobId job) const { return since_[index(job)]; }
  [[nodiscard]] bool is_overdue(JobId job) const {
    return any() && yard_.now() - since(job) > patience_.limit();
  }
  /// No overdue job goes first before this.
  [[nodiscard]] Time next() const { return next_; }
  /// True if the job is overdue and may go first now, as far as it is concerned.
  [[nodiscard]] bool is_due(JobId job) const { return yard_.now() >= next_ && is_overdue(job); }
  /// Names the one that goes first, until another call; kNoJob: none does.
  void name(JobId job) { named_ = job; }
  [[nodiscard]] bool goes_first(JobId job) const {
    return job == named_ && yard_.state(job).phase == Phase::queued;
  }

  // --- Jobs that have their quantum --------------------------------------------------------------
  [[nodiscard]] bool has_quantum(JobId job) const {
    return std::ranges::find(quanta_, job, &Quantum::job) != quanta_.end();
  }

  void on_phase(JobId job, Phase from, Phase to) {
    if (!any()) return;
    if (to == Phase::queued || has_ended(to))
      std::erase_if(quanta_, [&](const Quantum& each) { return each.job == job; });
    if (to == Phase::queued) {
      grow_to(since_, index(job), yard_.workload().jobs.size());
      since_[index(job)] = yard_.state(job).since;
    }
    if (from == Phase::queued && job == named_) {
      named_ = kNoJob;
      if (!has_ended(to)) begin_quantum(job);
    }
    if (to == Phase::running) limit_quantum(job);
  }
  /// Ends the quanta that are over.
  void refresh() {
    std::erase_if(quanta_, [&](const Quantum& each) { return each.until <= yard_.now(); });
  }
  void save_learnt(Learnt& learnt) const {
    if (!any()) return;
    learnt[kName] = {number_of(std::max(next_, Time{}))};
    JobNotes notes(learnt, kName, 3);
    for (const Quantum& each : quanta_)
      notes.add(each.job, {0, number_of(each.waited), number_of(each.until)});
    if (named_ != kNoJob) notes.add(named_, {1, 0, 0});
  }
  void recall_jobs(const Learnt& learnt) {
    if (!any()) return;
    each_learnt(learnt, kName, [&](std::string_view rest, std::span<const double> kept) {
      if (rest.empty() && kept.size() == 1) next_ = time_of(kept[0]);
    });
    each_note(learnt, kName, 3, yard_.jobs(), [&](JobId job, std::span<const double> kept) {
      const Phase phase = yard_.state(job).phase;
      if (kept[0] != 0) {
        if (phase == Phase::queued) named_ = job;
      } else if (phase != Phase::queued && !has_ended(phase)) {
        quanta_.push_back({job, duration_of(kept[1]), time_of(kept[2])});
      }
    });
  }
  [[nodiscard]] Time next_change() const {
    Time next = Time::never();
    for (const Quantum& each : quanta_) next = std::min(next, each.until);
    return next;
  }

 private:
  struct Quantum {
    JobId job = kNoJob;
    Duration waited;
    Time until = Time::never();  // known once it runs
  };

  [[nodiscard]] static Duration part(Duration of, double part) {
    return Duration{static_cast<std::int64_t>(static_cast<double>(of.us) * part)};
  }
  void begin_quantum(JobId job) {
    const Duration waited = yard_.now() - since(job);
    quanta_.push_back({job, waited, Time::never()});
    const double gpus = std::max(yard_.cluster().total_gpus, 1);
    if (share_ < 1) next_ = yard_.now() + part(waited, yard_.job(job).gpus() / gpus);
  }
  void limit_quantum(JobId job) {
    const auto quantum = std::ranges::find(quanta_, job, &Quantum::job);
    if (quantum != quanta_.end() && share_ < 1)
      quantum->until = yard_.now() + part(quantum->waited, share_ / (1 - share_));
  }

  static constexpr const char* kName = "overdue";

  const Yard& yard_;
  const Patience& patience_;
  double share_;
  Time next_{};
  JobId named_ = kNoJob;
  std::vector<Time> since_;      // by job
  std::vector<Quantum> quanta_;  // few at a time
};

}  // namespace trainyard
