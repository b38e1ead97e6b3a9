// Utilisation of a policy over time, averaged over its seeds.
#pragma once

#include <cstddef>
#include <vector>

#include "base/time.h"
#include "study/compare.h"

namespace trainyard {

/// Until when the longest of the runs has a measured utilisation.
Duration end_of(const PolicyRuns& policy);

/// The mean share of GPUs held in each of `cells` equal parts of 0 .. `end`, over time and runs; a
/// run that has ended counts as 0.
std::vector<double> mean_utilization(const PolicyRuns& policy, Duration end, std::size_t cells);

}  // namespace trainyard
