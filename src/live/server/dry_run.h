// What would become of a job if it were submitted now: when it would start, and which changes of it
// would start it sooner. Nothing is submitted.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "live/service/service.h"

namespace trainyard {

Answer<nlohmann::json> dry_run(Service& service, const Identity& who, const JobSpec& spec);

}  // namespace trainyard
