// What a policy reckoned when it paused jobs to make room for another, for those who compare that
// with what came of it.
#pragma once

#include "base/ids.h"

namespace trainyard {

/// In seconds of completion time.
struct PauseReckoning {
  double gain_s = 0;    // what all of it was expected to gain
  double spared_s = 0;  // the wait that the pause spares, counted from the decision
  double others_s = 0;  // by how much those are delayed who wait beside
};

class ReckoningListener {
 public:
  virtual ~ReckoningListener() = default;
  /// Right before the plan that pauses others for this job.
  virtual void on_reckoning(JobId waiter, const PauseReckoning& reckoned) = 0;
};

}  // namespace trainyard
