// Where the reference puts a job: the policy's placement (reference_place.h), on what is free now.
#pragma once

#include "reference_place.h"
#include "reference_state.h"

namespace trainyard::reference {

/// On what is free for it, or on a part of that.
std::optional<Spots> find_place(const State& state, const Settings& set, std::size_t j,
                                const Free& free);

/// Over how many machines the policy would let the job be spread.
std::int32_t max_machines(const State& state, const Settings& set, std::size_t j);

}  // namespace trainyard::reference
