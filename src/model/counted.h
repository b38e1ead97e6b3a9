// Which jobs figures on times are of: not those while the cluster fills or empties.
#pragma once

#include <cstddef>

#include "model/workload.h"

namespace trainyard {

inline bool counts(const Workload& workload, std::size_t job) {
  return job >= workload.uncounted && job + workload.uncounted < workload.jobs.size();
}

}  // namespace trainyard
