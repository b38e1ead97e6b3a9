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
// of these matchings is kept. The best draws are improved by trades (trading.h); the cheapest of
// all is the answer. The same market and seed give the same answer.
#pragma once

#include <cstdint>

#include "market/market.h"

namespace trainyard {

struct SolveOptions {
  enum class Draw : std::uint8_t { even, guided };

  Draw draw = Draw::guided;
  int draws = 16;     // at least 1
  int matchings = 3;  // of each draw, at least 1
  bool trades = true;
  std::uint64_t seed = 1;
};

/// Where not all can have their least, some get nothing, whatever they cost idle.
Allocation solve(const Market& market, const SolveOptions& options = {});

/// The same for a market in which buyers have workers: from what they have, by trades alone.
Allocation go_on(const Market& market);

}  // namespace trainyard
