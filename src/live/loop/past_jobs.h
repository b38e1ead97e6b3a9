// What a forecast goes by of jobs that were here before: how long they took, which came of late,
// and how their promises were kept. It is read from the journal when it is first asked for, and
// then follows what ends. One thread.
#pragma once

#include <deque>
#include <vector>

#include "forecast/job_lengths.h"
#include "forecast/promise_tally.h"
#include "forecast/track_record.h"
#include "live/book/job_table.h"
#include "live/journal/journal.h"

namespace trainyard {

/// By which time forecasts expect jobs to take.
[[nodiscard]] Duration declared_time(const JobRecord& job);

class PastJobs {
 public:
  static constexpr std::size_t kMost = 4096;        // jobs, those that ended last
  static constexpr std::size_t kMostComing = 2048;  // of late
  static constexpr Duration kOfLate = days(7);

  explicit PastJobs(const Journal& journal) : journal_(journal) {}

  /// Hears which have not ended; the others that it knows, or that came since, have.
  Expected<void> follow(const JobTable& open);

  [[nodiscard]] const JobLengths& lengths() const { return lengths_; }
  /// Those that came within kOfLate before `now`, by number.
  [[nodiscard]] std::vector<const JobRecord*> came(const JobTable& open, Time now) const;
  /// How good promises were.
  [[nodiscard]] TrackRecord record(const JobTable& open) const;
  [[nodiscard]] PromiseTallies tally(const JobTable& open) const;

 private:
  Expected<void> read_first();
  Expected<void> read_those_that_ended(const JobTable& open);
  void add(JobRecord job);
  template <class Visit>
  void each_promise(const JobTable& open, Visit visit) const;

  const Journal& journal_;
  bool has_begun_ = false;
  JobNumber last_ = 0;           // the highest number that was seen
  std::vector<JobNumber> open_;  // at the last time
  std::deque<JobRecord> ended_;  // as they ended
  JobLengths lengths_;
};

}  // namespace trainyard
