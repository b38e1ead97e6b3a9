#include "study/report/quantity.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace trainyard {
namespace {

/// The sizes of the means, zeros aside.
struct Sizes {
  double least = std::numeric_limits<double>::infinity(), most = 0;
  bool all_whole = true;  // and known exactly
};

Sizes sizes_of(std::span<const Interval> values) {
  Sizes sizes;
  for (const auto& [mean, half_width] : values) {
    const double size = std::abs(mean);
    if (!std::isfinite(size)) continue;
    sizes.all_whole = sizes.all_whole && half_width == 0 && size == std::floor(size);
    if (size > 0) sizes.least = std::min(sizes.least, size);
    sizes.most = std::max(sizes.most, size);
  }
  return sizes;
}

struct TimeUnit {
  double s;
  std::string_view name;
};

constexpr TimeUnit kMilliseconds{1e-3, "ms"};
constexpr std::array kTimeUnits{TimeUnit{1, "s"}, TimeUnit{60, "min"}, TimeUnit{3600, "h"},
                                TimeUnit{86'400, "d"}};

/// The largest in which the largest value is 2 or more, and no value would be shown as nothing;
/// where all are below 1000 in a smaller one, rather that than parts of a unit.
const TimeUnit& time_unit(const Sizes& sizes) {
  if (sizes.most == 0) return kTimeUnits.front();
  if (sizes.most < 1) return kMilliseconds;
  std::size_t i = kTimeUnits.size() - 1;
  while (i > 0) {
    const double least = sizes.least / kTimeUnits[i].s;
    const bool too_large = sizes.most < 2 * kTimeUnits[i].s || least < 0.05;
    const bool smaller_will_do = least < 1 && sizes.most < 1000 * kTimeUnits[i - 1].s;
    if (!too_large && !smaller_will_do) break;
    --i;
  }
  return kTimeUnits[i];
}

/// Three digits of the smallest value, and at most five of the largest.
int decimals_for(double least, double most) {
  if (most == 0 || least >= 99.95) return 0;
  const int three_digits = least >= 9.995 ? 1 : 2;
  return most >= 1000 ? std::min(three_digits, 1) : three_digits;
}

}  // namespace

NumberFormat::NumberFormat(Quantity quantity, std::span<const Interval> values) {
  const Sizes sizes = sizes_of(values);
  if (quantity == Quantity::share) {
    factor_ = 100, unit_ = "%";
    decimals_ = sizes.most > 0 && sizes.most < 0.05 ? 2 : 1;
    return;
  }
  if (quantity == Quantity::seconds) {
    const TimeUnit& unit = time_unit(sizes);
    factor_ = 1 / unit.s, unit_ = unit.name;
  }
  if (quantity == Quantity::count && sizes.all_whole) return;
  decimals_ = decimals_for(sizes.least * factor_, sizes.most * factor_);
}

std::string NumberFormat::heading(std::string_view title) const {
  return unit_.empty() ? std::string(title) : fmt::format("{} ({})", title, unit_);
}

std::string NumberFormat::number(double value) const {
  return fmt::format("{:.{}f}", value * factor_, decimals_);
}

std::string NumberFormat::mean(const Interval& value) const {
  return std::isfinite(value.mean) ? number(value.mean) : "-";
}

std::string NumberFormat::spread(const Interval& value) const {
  return std::isfinite(value.mean) ? "± " + number(value.half_width) : "";
}

std::string NumberFormat::ends(const Interval& value) const {
  if (!std::isfinite(value.mean)) return "-";
  return fmt::format("{} to {}", number(value.mean - value.half_width),
                     number(value.mean + value.half_width));
}

ColumnFormat::ColumnFormat(Quantity quantity, std::span<const Interval> values)
    : quantity_(quantity), column_(quantity, values) {
  constexpr double kTooFar = 20;
  const Sizes sizes = sizes_of(values);
  by_cell_ = quantity == Quantity::seconds && sizes.most > kTooFar * sizes.least;
}

std::string ColumnFormat::heading(std::string_view title) const {
  return by_cell_ ? std::string(title) : column_.heading(title);
}

NumberFormat ColumnFormat::format_for(const Interval& value) const {
  return by_cell_ ? NumberFormat(quantity_, {&value, 1}) : column_;
}

std::string ColumnFormat::mean(const Interval& value) const {
  const NumberFormat format = format_for(value);
  return by_cell_ ? format.with_unit(format.mean(value)) : format.mean(value);
}

std::pair<std::string, std::string> ColumnFormat::mean_and_spread(const Interval& value) const {
  const NumberFormat format = format_for(value);
  const std::string spread = format.spread(value);
  return {format.mean(value), by_cell_ && !spread.empty() ? format.with_unit(spread) : spread};
}

std::string NumberFormat::with_unit(std::string text) const {
  return unit_.empty() || text == "-" ? text : fmt::format("{} {}", text, unit_);
}

}  // namespace trainyard
