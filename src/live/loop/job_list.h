// Lists of jobs: those that have not ended from a snapshot, the others from the journal.
#pragma once

#include "live/journal/journal.h"
#include "live/loop/snapshot.h"

namespace trainyard {

/// The jobs that the filter asks for, newest first. A job that ends between the two looks is listed
/// once.
Expected<JobPage> list_jobs(const Snapshot& snapshot, const Journal& journal,
                            const JobFilter& filter);

}  // namespace trainyard
