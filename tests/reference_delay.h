// place=delay with learnt timers, of the reference: how far apart a job lets itself be placed by
// now.
#pragma once

#include "reference_state.h"

namespace trainyard::reference {

/// The job has come to the queue.
void begin_to_hold_out(State& state, const Settings& set, std::size_t j);
/// Those whose time has come may be ready for more. When the next time is.
Time look_again(State& state, const Settings& set);

}  // namespace trainyard::reference
