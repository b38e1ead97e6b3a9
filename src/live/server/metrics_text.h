// The daemon's counters in the text format of Prometheus.
#pragma once

#include <string>

#include "live/server/reply.h"
#include "live/service/service.h"

namespace trainyard {

std::string metrics_text(const Counters& counters, const ClusterView& cluster,
                         const ServerStatus& server);

}  // namespace trainyard
