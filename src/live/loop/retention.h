// Erases what jobs that ended long ago have left behind. It cannot be undone, so:
//
//  1. Output goes after `keep_output`, checkpoints after `keep_checkpoints`, and never without it.
//  2. A job is old when it is so by both counts: time that the daemon has lived through since its
//     end (journal/lived_time.h), and the wall clock.
//     A job whose row in the journal is damaged is of no age, and keeps what it left behind.
//  3. After a jump of the wall clock by more than a day nothing is erased until an operator says so
//     (resume). A machine that was off for longer than that looks the same. It is written down in
//     the commit that takes over the new time, so no crash comes between the two. If that record
//     is damaged, nothing is erased either.
//  4. In a day of lived time at most `least_erased_a_day` jobs lose a leftover, or twice as many as
//     become due in a day on the average. That is written down before any of them does.
//
// Every pass says in the log which jobs it was and why. All by the scheduler's thread.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "live/loop/live_state.h"
#include "live/service/service.h"

namespace trainyard {

class Retention {
 public:
  explicit Retention(LiveState& state) : state_(state) {}

  /// At a start, when the clock of LiveState has begun. What it finds is written down with the
  /// first turn.
  void begin();
  /// All times were moved by this much, because the wall clock was set.
  void hear_clock(Duration moved);
  /// Has the time written down every now and then: it bounds what a crash costs of lived time.
  void keep_time();

  using Commit = std::function<Expected<void>(const JournalChange&)>;
  /// A pass, if one is due.
  void erase_old(const Commit& commit);
  /// When one of the last two has something to do, by LiveState::now().
  [[nodiscard]] Time next() const;

  [[nodiscard]] Answer<RetentionView> view() const;
  /// Stages what `resume` makes true; or refuses, if nothing is suspended.
  [[nodiscard]] Answer<void> stage_resume(const Identity& by, JournalChange& change);
  void resume();

 private:
  struct Suspension {
    std::string why;
    Time since;
  };
  struct Day {  // of lived time
    std::int64_t number = 0;
    std::size_t erased = 0;  // jobs
  };

  void suspend(const std::string& why);
  [[nodiscard]] Time steady() const { return state_.system.steady_clock(); }
  [[nodiscard]] std::optional<Duration> keep_of(Leftover what) const;
  [[nodiscard]] Journal::Age age(Duration keep) const;
  [[nodiscard]] std::size_t most_a_day(std::size_t kept, Duration keep) const;
  [[nodiscard]] Day today(Leftover what) const;
  [[nodiscard]] Expected<RetentionView::Part> part(Leftover what) const;
  Expected<void> pass(Leftover what, Duration keep, const Commit& commit);
  Expected<void> erase(Leftover what, const std::vector<JobRecord>& jobs,
                       std::vector<JobRecord>& erased);
  void tell(const JournalChange& gone, Duration keep, const std::string& more);

  LiveState& state_;
  std::optional<Suspension> suspended_;
  Time next_pass_, next_keeping_;  // by the steady clock
};

/// "1-3, 7, 9-12", of numbers in any order.
std::string ranges_of(std::vector<JobNumber> numbers);

}  // namespace trainyard
