// How good forecasts were, and what that says of the next one. The draws of a forecast know how
// lengths vary and who came of late, but nothing of weeks that are like no week before; so their
// band is too narrow, and by how much is seen from the promises of the past: of each it is kept
// when the job was expected to start, with the band of the draws, and when it then did.
//
// A promise missed by u: on a logarithmic scale of waits (1 min added), u = -1 if the job started
// at the draws' p10, 0 if at their p50, and 1 if at their p90. If the draws were right a tenth of
// all would be below -1, and a tenth above 1. The p10 and p90 of a new forecast are set where the
// tenths of the promises on record are (conformal prediction, with the draws' width as its scale).
// A job that still waits has missed by more than it has so far (Kaplan and Meier's estimator):
// without that, those that start early would be known first, and be most of what is known. The
// draws themselves count as kTrust promises, so that the band is theirs while little is recorded.
//
// Example: a job was expected in 2 h (1 h to 4 h). It started after 8 h: u = 2. If a tenth of the
// promises had u > 2, the next job of the same band is promised 2 h (1 h to 8 h).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <unordered_map>
#include <vector>

#include "base/time.h"

namespace trainyard {

/// `never` stands for a time beyond the horizon.
struct TimeBand {
  Time p10 = Time::never(), p50 = Time::never(), p90 = Time::never();

  bool operator==(const TimeBand&) const = default;
};

/// By which draws are corrected.
class BandScale {
 public:
  /// The draws as they are.
  BandScale() = default;
  BandScale(double early, double late) : early_(early), late_(late) {}

  /// The band that is promised at `now`, from that of the draws.
  [[nodiscard]] TimeBand promised(const TimeBand& drawn, Time now) const;
  [[nodiscard]] double early() const { return early_; }
  [[nodiscard]] double late() const { return late_; }

 private:
  double early_ = -1, late_ = 1;  // the u of p10, at most 0, and of p90, at least 0
};

class TrackRecord {
 public:
  static constexpr std::size_t kMost = 4096;  // promises, the latest
  static constexpr double kTrust = 20;

  /// A job that waits was promised a start; one promise a job. Numbers are whatever tells jobs
  /// apart. A band that is not known to its end is passed over.
  void promise(std::int64_t job, Time made, const TimeBand& drawn);
  void started(std::int64_t job, Time at);
  /// It will not start any more: what it was promised says nothing.
  void withdraw(std::int64_t job);

  [[nodiscard]] std::size_t size() const { return promises_.size(); }
  /// By all that is known at this instant.
  [[nodiscard]] BandScale scale(Time now) const;

 private:
  struct Promise {
    std::int64_t job;
    Time made;
    TimeBand drawn;
    Time start = Time::never();
    bool counts = true;
  };
  Promise* find_open(std::int64_t job);

  std::deque<Promise> promises_;
  std::uint64_t dropped_ = 0;                             // before the first
  std::unordered_map<std::int64_t, std::uint64_t> open_;  // by job: its number
};

}  // namespace trainyard
