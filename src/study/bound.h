// The lower bound of a workload with several seeds, and its prices as a plot shows them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "bound/lower_bound.h"

namespace trainyard {

/// What `trainyard bound` prints.
struct BoundRuns {
  std::string workload, cluster;  // for people
  std::vector<std::uint64_t> seeds;
  std::vector<LowerBound> bounds;  // one a seed
};

struct PriceAt {
  double at_s = 0;  // since the first submission
  double price = 0;
};

/// The mean price over the bounds in each of `count` equal parts of the time until the last price
/// falls to 0, at the middle of the part. Empty if GPU time has no price at all.
std::vector<PriceAt> mean_prices(std::span<const LowerBound> bounds, std::size_t count);

/// "lower bound": what a table and a legend call it.
constexpr std::string_view kLowerBoundName = "lower bound";

/// In a study a policy of this line runs nothing: its mean JCT is the lower bound.
constexpr std::string_view kLowerBoundLine = "bound";

}  // namespace trainyard
