// What a policy expects to gain when it pauses jobs to make room for another, as a sum of named
// terms: for the person who asks why, and to compare it with what came of it.
#pragma once

#include <string>

#include "base/ids.h"

namespace trainyard {

/// In seconds of completion time, each counted as often as the seconds of its jobs are worth.
struct PauseReckoning {
  double gain_s = 0;    // the sum: what all of it is expected to gain
  double spared_s = 0;  // + the wait of the job, and of those behind it, that the pause spares
  double worth_s = 0;   // + what more the job's own wait counts
  double room_s = 0;    // + what the job gains by this room; negative: it has others it likes more
  double suspended_s = 0;  // - for how long the paused jobs stand back
  double costs_s = 0;      // - what saving and loading take from the jobs concerned
  double others_s = 0;     // - by how much that delays the other jobs that wait

  /// "gains 35 min: 60 min of waits spared - 10 min for which others stand back - ..."
  [[nodiscard]] std::string text() const;
};

class ReckoningListener {
 public:
  virtual ~ReckoningListener() = default;
  /// Right before the plan that pauses others for this job.
  virtual void on_reckoning(JobId waiter, const PauseReckoning& reckoned) = 0;
};

}  // namespace trainyard
