// Improves an allocation by trades until none is left that gains anything:
//
//   buy        a buyer takes workers of a kind, those on offer first, then from others that lose
//              less by it than the buyer gains; one that does not mix kinds leaves its kind for
//              them
//   give back  a buyer does better with fewer, or with none
//   barter     a buyer changes workers of one kind into another that is on offer, or with a buyer
//              that wants the opposite
//   revert     a buyer gets back what it had before, like one that buys it, and spares its pause
//   enter      a buyer that has nothing, and for which no single kind has room, begins on several
//   share      in a small market, when nothing else gains: two buyers divide what both have and
//              what is on offer in the best way there is (sharing.h)
//
// Workers change hands in blocks of 1, 2, 4, ...: the first worker may not pay for a pause that
// eight of them do. What each buyer would give for a worker of each kind, and what it would want
// for one, is kept in a tournament, so the next trade is found at once; a trade changes only the
// values of those who take part in it. Every trade lowers the sum of costs, so trading ends.
#pragma once

#include "market/market.h"

namespace trainyard {

/// From an allocation without fault. `shares`: whether two buyers may share, which takes far more
/// time than all else.
Allocation trade(const Market& market, const Allocation& start, bool shares = true);

}  // namespace trainyard
