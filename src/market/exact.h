// The best allocation there is, by dynamic programming over what is left of each kind: exact, and
// for small markets only. What the others are measured by.
//
// After some buyers, what matters is how many GPUs of each kind are left: the product of (GPUs + 1)
// over the kinds, times what the next buyer might take. 15 workers that all differ make 2^15
// states; 4 kinds of 16 make 83,521.
#pragma once

#include <cstdint>

#include "market/market.h"

namespace trainyard {

/// How many steps solve_exactly would take.
double exact_steps(const Market& market);

/// Empty (no buyers) when no allocation has a finite cost.
Allocation solve_exactly(const Market& market);

}  // namespace trainyard
