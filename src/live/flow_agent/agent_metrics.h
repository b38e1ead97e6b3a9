// What an agent counts, as Prometheus reads it.
#pragma once

#include <string>

#include "live/flow_agent/flow_agent.h"

namespace trainyard {

std::string agent_metrics(const FlowAgent::Status& status, const FlowBytes& bytes, Time now);

}  // namespace trainyard
