#include "study/distribution.h"

#include <algorithm>

namespace trainyard {

Distribution distribution_of(std::span<double> values) {
  Distribution result;
  if (values.empty()) return result;
  std::sort(values.begin(), values.end());
  constexpr std::size_t kSteps = kQuantilePoints - 1;
  result.quantiles.reserve(kQuantilePoints);
  for (std::size_t i = 0; i <= kSteps; ++i) {
    const std::size_t rank = (i * values.size() + kSteps - 1) / kSteps;  // rounded up
    result.quantiles.push_back(values[rank == 0 ? 0 : rank - 1]);
  }
  return result;
}

Distribution pooled(std::span<const Distribution> parts) {
  std::vector<double> points;
  for (const Distribution& part : parts)
    points.insert(points.end(), part.quantiles.begin(), part.quantiles.end());
  return distribution_of(points);
}

}  // namespace trainyard
