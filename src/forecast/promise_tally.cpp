#include "forecast/promise_tally.h"

#include <algorithm>
#include <cmath>

namespace trainyard {

std::optional<std::size_t> promise_limit(const TimeBand& band, Time made) {
  if (band.p50 == Time::never()) return {};
  for (std::size_t i = 0; i < kPromiseLimits.size(); ++i)
    if (band.p50 - made <= kPromiseLimits[i].wait) return i;
  return {};
}

double median_of(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

void PromiseTally::add(const TimeBand& told, Time start) {
  held_ += is_within(told, start) ? 1 : 0;
  errors_.push_back(std::abs((told.p50 - start).seconds()));
}

}  // namespace trainyard
