// How a quantity is spread over jobs, in as many points as a plot can show: a run of a million jobs
// keeps a few kilobytes instead of its values.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace trainyard {

struct Distribution {
  /// kQuantilePoints nearest-rank quantiles at 0, 0.5%, 1% .. 100%: the first is the minimum, the
  /// last the maximum. Empty for no values.
  std::vector<double> quantiles;

  bool operator==(const Distribution&) const = default;
};

constexpr std::size_t kQuantilePoints = 201;

/// Sorts `values`.
Distribution distribution_of(std::span<double> values);

/// The distribution of a value drawn from one of `parts` (the empty ones aside), each as likely as
/// the others: what several seeds show together.
Distribution pooled(std::span<const Distribution> parts);

}  // namespace trainyard
