// When runs have loaded. An engine sees that a job's processes run, and not whether they do
// anything yet; so the yard has the job `starting` until its first sign of progress, which is a
// report of a step that it did. The time until then is load: no work is done in it, no policy
// pauses the job, and yard.min_run counts from its end. So every pause is preceded by progress,
// however often a job is paused.
//
// A job need not report. Without a sign a run counts as loading for
//
//   4 x what its last load took, or what that of its user's jobs of the same model did
//   (1 + n) x SchedulingOptions::load_time at least, where n of its runs were paused before any
//   sign
//
// and for an hour at most. Example: load_time is 15 s, and nothing is known of a job whose load
// takes 40 s. Its first two runs may be paused after 15 s and 30 s (and min_run), and the third is
// not before its load ends; from then on it is known to take 40 s.
//
// After that time the run counts as loaded. The time since it began, less the known load (at most
// the time for which it counted as loading), is booked as work. If a sign comes all the same, the
// next report tells what a step takes, and so how much of the time before the sign was load: a job
// whose first step takes an hour has not loaded for an hour.
//
// What a load took when the daemon was not there all the time is not measured.
#pragma once

#include <unordered_map>

#include "live/loop/live_state.h"

namespace trainyard {

class Loads {
 public:
  explicit Loads(LiveState& state) : state_(state) {}

  /// The engine is told to start a run of the job.
  void expect(JobNumber job);
  /// The run's processes began then, which may be a while ago.
  void begin(JobNumber job, Time began);
  /// The job tells something. Before it is in the record.
  void hear(JobNumber job, const JobProgress& told);
  /// Those that count as loading for long enough have loaded.
  void settle();
  /// When there is next one to settle.
  [[nodiscard]] Time next() const;
  /// The run ended by itself then, after `took`. Returns the work that the job has done in all: if
  /// the run still counted as loading, all of its time is work. If more was booked, because the run
  /// had ended unseen when it was taken for loaded, or by a clock that was wrong, it is taken back.
  Duration end(JobNumber job, Time ended, Duration took);
  /// The run was paused, and is about to return to the queue. `saved`: it said that it did.
  void leave(JobNumber job, bool saved);

 private:
  struct Watch {
    std::uint32_t run = 0;
    Duration first_after;  // the run's beginning: its first sign,
    std::int64_t first_step = 0, steps_before = 0;
    bool is_late = false;  // it counted as loaded by then
    bool is_measured = false;
  };
  [[nodiscard]] Duration presumed(const JobRecord& job) const;
  [[nodiscard]] std::optional<Duration> known(const JobRecord& job) const;
  /// Of a run that counts as loaded without a sign, the part that is work.
  [[nodiscard]] Duration work_time(const JobRecord& job, Duration ran) const;
  [[nodiscard]] Watch* watch_of(const JobRecord& job);
  void hear_first(JobRecord& job, std::int64_t step);
  void measure(JobRecord& job, Watch& watch, std::int64_t step);
  void keep(JobRecord& job, Duration took);
  void tell(const JobRecord& job, Duration took);
  void forget_unseen(JobRecord& job) { job.load.unseen = 0, job.load.unseen_work = {}; }
  [[nodiscard]] Time ends(const JobRecord& job) const { return job.load.began + job.load.presumed; }

  LiveState& state_;
  std::unordered_map<JobNumber, Watch> watched_;  // runs that this daemon saw begin
};

}  // namespace trainyard
