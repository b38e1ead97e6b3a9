// queue.fair_wait of the reference: how long a job may wait, by the work that there was.
#pragma once

#include <span>

#include "reference_state.h"

namespace trainyard::reference {

/// By what these notes tell. A wait that is longer is too long.
Duration longest_wait(const Settings& set, std::span<const WorkNote> notes);

}  // namespace trainyard::reference
