// What jobs that have not ended may take of the daemon's memory: those of one user, and all.
#pragma once

#include "live/book/job_book.h"
#include "live/service/service.h"

namespace trainyard {

/// Whether there is room for `more` beside what the user's jobs take, and what all take. `most` is
/// what all may take; one user, half of it.
Answer<void> check_budget(const JobBook::Held& own, const JobBook::Held& all,
                          const JobBook::Held& more, std::size_t most);

}  // namespace trainyard
