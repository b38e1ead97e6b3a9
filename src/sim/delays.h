// What a real engine takes beyond the jobs' own times: on a cluster, a poll, the cluster manager's
// next round, the launch of processes; and until all that a job has left behind is gone. Policies
// do not know of it. Measured on a cluster, they make the simulated engine as slow as that one.
//
//   start=1.2s   from the order, or what made it possible, until the job begins to load or to work
//   leave=700ms  from the end of its saving until its GPUs are free
#pragma once

#include <string_view>

#include "base/error.h"
#include "base/time.h"

namespace trainyard {

struct EngineDelays {
  Duration start, leave;
  bool operator==(const EngineDelays&) const = default;
};

/// "start=1.2s,leave=700ms", either or both; "none": no delays.
Expected<EngineDelays> parse_delays(std::string_view text);

}  // namespace trainyard
