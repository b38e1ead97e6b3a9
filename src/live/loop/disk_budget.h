// What the jobs of users may take of the disk: those of one user, and all.
#pragma once

#include <cstdint>

#include "live/journal/disk_use.h"
#include "live/service/service.h"

namespace trainyard {

/// What jobs of such a submission will take: its payload once, and for each about as much history
/// as it takes of memory.
DiskUse disk_use_of(JobSpec spec, std::size_t count);

/// How many bytes more the jobs of a user may take. `most` is what all users may take; one user, a
/// quarter of it. Where all take more than that together, it is those above the average that have
/// to wait: a user with little on disk is never refused for what others have.
std::int64_t room_on_disk(const DiskUse& own, const AllDiskUse& all, std::int64_t most);

/// Refuses `more` where its user has no room left for it.
Answer<void> check_disk_budget(const DiskUse& own, const AllDiskUse& all, const DiskUse& more,
                               std::int64_t most);

}  // namespace trainyard
