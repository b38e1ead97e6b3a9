#include "study/bound.h"

#include <algorithm>

namespace trainyard {
namespace {

double last_price_s(const Prices& prices) {
  std::size_t cells = prices.cells();
  while (cells > 0 && prices.price[cells - 1] <= 0) --cells;
  return cells == 0 ? 0 : prices.from_s[cells];
}

/// Adds the price, as its mean over each part of that many seconds.
void add_prices(const Prices& prices, double part_s, std::vector<PriceAt>& parts) {
  for (std::size_t i = 0; i < prices.cells(); ++i) {
    for (std::size_t p = static_cast<std::size_t>(prices.from_s[i] / part_s); p < parts.size();
         ++p) {
      const double from_s = part_s * static_cast<double>(p);
      if (from_s >= prices.from_s[i + 1]) break;
      const double s =
          std::min(from_s + part_s, prices.from_s[i + 1]) - std::max(from_s, prices.from_s[i]);
      parts[p].price += prices.price[i] * std::max(s, 0.0) / part_s;
    }
  }
}

}  // namespace

std::vector<PriceAt> mean_prices(std::span<const LowerBound> bounds, std::size_t count) {
  double end_s = 0;
  for (const LowerBound& bound : bounds) end_s = std::max(end_s, last_price_s(bound.prices));
  if (end_s <= 0) return {};
  const double part_s = end_s / static_cast<double>(count);
  std::vector<PriceAt> parts(count);
  for (const LowerBound& bound : bounds) add_prices(bound.prices, part_s, parts);
  for (std::size_t p = 0; p < count; ++p) {
    parts[p].at_s = part_s * (static_cast<double>(p) + 0.5);
    parts[p].price /= static_cast<double>(bounds.size());
  }
  return parts;
}

}  // namespace trainyard
