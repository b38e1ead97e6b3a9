// The market's continuous relaxation: workers can be divided, and buyers bid for them.
//
// Every buyer has a budget and divides it over the kinds; a kind's price is what is bid for it over
// its number, and a buyer gets what its bid pays for. Then it bids anew, on each kind in proportion
// to the power that it got from there, with a budget of weight x J: the one that will be done last
// bids most. Where that comes to rest,
//
//   weight c power_ik / R_i^2 = price_k   for all kinds that buyer i has,  c = iterations x unit_s
//
// which is the condition of the least sum of weight x c / R: the problem is convex, so it is the
// best division there is. Communication and the sizes that buyers can have are left out; the
// division serves as a guide to sizes.
#pragma once

#include <vector>

#include "market/market.h"

namespace trainyard {

/// Workers by buyer and kind. A buyer that can run nowhere has none.
std::vector<double> divide(const Market& market);

}  // namespace trainyard
