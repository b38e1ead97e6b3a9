// Whether what a trace says can be meant as it was read. A column in another unit reads well and
// means nonsense: milliseconds taken for seconds make jobs of a day run for three years.
#pragma once

#include "base/error.h"
#include "workload/import/import.h"

namespace trainyard {

/// Refuses an id that two jobs have.
Expected<void> check_ids(const Workload& workload);

/// Looks at a sample of the jobs. Refuses times that no trace has (half of the jobs run for more
/// than a year, or they were submitted over more than ten), and adds a note on what is merely odd.
/// Times whose unit was named are taken as they are; in our own format, where units can be written
/// beside the numbers, nothing is more than odd.
Expected<void> check_sense(Import& import, bool unit_is_given, bool is_ours);

}  // namespace trainyard
