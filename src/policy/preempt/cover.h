// The cheapest way to cover a gang, machine by machine: each machine offers a few ways to hold so
// many of its workers at such a price, of which at most one is taken.
//
// A multiple-choice knapsack by dynamic programming: least[c][w] is the least price at which at
// most c machines hold w workers. Exact; the time is the number of offers times workers times,
// where the machines are limited, their number.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace trainyard {

struct CoverOffer {
  std::size_t machine = 0;
  std::int32_t workers = 0;  // > 0
  double price = 0;
  std::size_t id = 0;  // the caller's own
};

/// Which offers to take so that `workers` are held on at most `max_machines`, at the least total
/// price. The offers of a machine stand together. False when there is no way.
bool cheapest_cover(std::span<const CoverOffer> offers, std::int32_t workers,
                    std::int32_t max_machines, std::vector<CoverOffer>& taken);

}  // namespace trainyard
