// What happens to jobs and machines, as lines of the log.
#pragma once

#include "live/service/service.h"
#include "live/system/log.h"

namespace trainyard {

/// "job 3 of ada is starting: gpus 0,1, run 1". Also of kinds of event that come later.
void log_event(Log& log, const LiveEvent& event);

}  // namespace trainyard
