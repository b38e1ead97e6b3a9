// The market in one category of sizes: every buyer gets exactly as many workers as its size says,
// and of which kinds is decided so that the sum of what the workers are worth to those who get them
// is the largest there is. (The prices that clear such a market are the dual of this matching, so
// there is no need to look for them.)
//
// A kind stands for all its workers, so the problem has buyers x kinds cells, not buyers x workers.
// Buyers come one after the other; each takes the kind that gains most, where room is made on a
// full kind by a chain of moves: a worker's worth of some buyer from this kind to that one, and so
// on to a kind with room. Which buyer moves from g to h at the least loss stands on top of a heap
// for each pair (g, h), so a chain is a shortest path among the kinds alone. It is the successive
// shortest path method, and exact, except that worths count to 1e-13 of the largest. With S buyers
// and G kinds it takes O(S G (G^3 + G log S)) where moves are mostly as large as the sizes.
//
// Example: kinds x and y with 2 workers each; A wants 2 and values them 3 and 1, B wants 2 and
// values them 5 and 4. A takes both of x. B would have to pay 3 - 1 for each worker of x that A
// gives up: 5 - 2 < 4, so it takes y. The sum is 3 + 3 + 4 + 4.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "market/market.h"

namespace trainyard {

struct Matching {
  Allocation allocation;
  double worth = 0;  // the sum
};

/// `capacity` in workers, by kind. `worth` of one worker by buyer and kind; below 0: the buyer
/// cannot have it. Nothing when there are too few workers for these sizes.
std::optional<Matching> match(std::span<const std::int32_t> capacity,
                              std::span<const std::int32_t> sizes, std::span<const double> worth);

}  // namespace trainyard
