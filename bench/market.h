// The market whose solution is measured, for us and for other solvers.
#pragma once

#include <cstdint>
#include <vector>

#include "market/market.h"

namespace trainyard::bench {

/// The matching of one category of sizes: workers by kind, sizes by buyer, worth by both.
struct CategoryMatching {
  std::vector<std::int32_t> capacity, sizes;
  std::vector<double> worth;
};

/// Seconds that something took, and the worth of the matching that it found.
struct Solved {
  double s = 0, worth = 0;
};

/// LEMON's network simplex, with a node for each kind or one for each worker.
Solved match_by_lemon(const CategoryMatching& matching, bool by_worker);
/// Clp's seconds for Gavel's least attained service at its least share: every job a part of the
/// time on each kind, so that the smallest ratio of its speed to that in an equal split is largest.
double max_min_by_clp(const Market& market);

/// Buyers raise prices until none wants what another has (Bertsekas): to `gap`, a share of the
/// largest worth, for each worker.
Solved match_by_auction(const CategoryMatching& matching, double gap);

}  // namespace trainyard::bench
