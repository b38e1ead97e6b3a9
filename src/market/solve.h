// Sizes and kinds for all buyers of a market.
//
// A category is a vector of sizes, one for each buyer; within it the best kinds are an exact
// matching (matching.h). There are far too many categories to look at all, so some are drawn:
//
//   even    every composition of the workers with the same chance, as the paper samples them
//   guided  around the sizes of the relaxation (bidding.h), each changed by a random factor; the
//           first draw is the relaxation itself, rounded
//
// What a worker is worth in the matching is linearised: the sum of c / R falls by c power / R^2 for
// each, with R at first that of workers of mean power, then that of the matching before; the best
// of these matchings is kept, and improved by trades (trading.h). So is what buyers have already.
//
// Buyers that need several GPUs for a worker, or workers of one kind, are left out of the matching
// and come in by trades, which ends where no single trade helps. In markets of a few buyers with
// such needs there is something better further away, so the best is shaken: some of the buyers,
// drawn at random, get random workers instead, and all trade again.
//
// The cheapest of all is the answer. The same market and seed give the same answer.
#pragma once

#include <cstdint>

#include "market/market.h"

namespace trainyard {

struct SolveOptions {
  enum class Draw : std::uint8_t { even, guided };

  Draw draw = Draw::guided;
  int draws = 8;      // at least 1
  int matchings = 3;  // of each draw, at least 1
  bool trades = true;
  bool shares = true;  // see trading.h
  int shaken = 320;    // buyers together, in as many shakes: none in a market of a thousand
  std::uint64_t seed = 1;
};

/// Where not all can have their least, some get nothing, whatever they cost idle.
Allocation solve(const Market& market, const SolveOptions& options = {});

}  // namespace trainyard
