// What a policy believes of the time that jobs have left. Stages that go by remaining time (order
// srtf and srsf; preempt srtf-blind, longest-remaining and benefit) ask this and nothing else, so
// that the same policy can be run on better or worse knowledge:
//
//   declared  what the job's estimate says; a trace's importer sets that to the truth. With an
//             error e every job's is multiplied by its own factor from [1 - e, 1 + e], drawn once.
//   attained  a job is expected to go on for as long as it has run already. Nothing is declared.
//   history   a job is expected to take as long as its user's jobs of as many GPUs that have
//             finished took on the average, as of its submission; as all of that user's, or as
//             everybody's, where there are none; an hour where no job has.
//   residual  what jobs like it that ran at least as long had left at that point, of those that
//             have finished; what it declares counts as a few of them (policy/residual.h).
//
// A running job's time left changes with the clock. To keep running jobs sorted they are given a
// rank that does not: at any instant a higher rank means more time left.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "policy/learnt.h"
#include "yard/yard.h"

namespace trainyard {

/// What is assumed of a job of which nothing is known.
constexpr Duration kAssumedTime = hours(1);

class Estimator {
 public:
  explicit Estimator(const Yard& yard) : yard_(yard) {}
  virtual ~Estimator() = default;
  Estimator(const Estimator&) = delete;
  Estimator& operator=(const Estimator&) = delete;

  /// Work that a job has left; at least 1 us.
  [[nodiscard]] virtual Duration remaining(JobId job) const = 0;

  /// The same by what the job declares; nothing, where that does not count.
  [[nodiscard]] virtual Duration declared_remaining(JobId job) const {
    return is_declared() ? remaining(job) : Duration{};
  }

  /// Of a job that runs; fixed while neither its rate nor its estimate changes.
  [[nodiscard]] virtual Time rank(JobId job) const = 0;
  /// The rank that goes with so much time left now, and the other way round.
  [[nodiscard]] virtual Time rank_of(Duration left) const { return yard_.now() + left; }
  [[nodiscard]] virtual Duration left_at(Time rank) const { return rank - yard_.now(); }

  /// Whether it goes by what jobs declare, so that declaring something else makes a difference.
  [[nodiscard]] virtual bool is_declared() const { return false; }

  /// Whether the time left of a running job grows while it runs, so that what does not pay now may
  /// pay later although nothing happens.
  [[nodiscard]] virtual bool grows() const { return false; }

  /// Called before the stages take note of the change.
  virtual void on_phase(JobId /*job*/, Phase /*from*/, Phase /*to*/) {}
  /// The same: something else is believed of the job's whole work.
  virtual void on_estimate(JobId /*job*/) {}
  /// The same: a job that holds GPUs goes on at another rate.
  virtual void on_rate(JobId /*job*/) {}

  /// Brings what is believed of running jobs up to now; lists those of which it is something else.
  virtual void refresh(std::vector<JobId>& /*changed*/) {}
  /// When refresh will next have something to change.
  [[nodiscard]] virtual Time next_change() const { return Time::never(); }

  /// What there is to say of how it came to believe that of the job: "jobs like it took 0.2 of what
  /// they declared"; empty: nothing.
  [[nodiscard]] virtual std::string grounds(JobId /*job*/) const { return {}; }

  virtual void save_learnt(Learnt& /*learnt*/) const {}
  virtual void recall(const Learnt& /*learnt*/) {}
  virtual void recall_jobs(const Learnt& /*learnt*/) {}

 protected:
  const Yard& yard_;
};

/// "declared", "attained", "history" or "residual"; the error is that of what jobs declare.
std::unique_ptr<Estimator> make_estimator(const Yard& yard, std::string_view name, double error,
                                          std::uint64_t seed);

}  // namespace trainyard
