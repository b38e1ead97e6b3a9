#include "base/text_plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace trainyard {
namespace {

struct Range {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();

  void include(double value) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
  /// Which of so many cells the value is in.
  [[nodiscard]] std::size_t cell(double value, std::size_t cells) const {
    const double part = high > low ? (value - low) / (high - low) : 0;
    return static_cast<std::size_t>(std::lround(part * static_cast<double>(cells - 1)));
  }
};

bool is_finite(const PlotSeries::Point& point) {
  return std::isfinite(point.x) && std::isfinite(point.y);
}

}  // namespace

std::string plot(std::span<const PlotSeries> series, std::size_t columns, std::size_t rows) {
  Range across, up;
  for (const PlotSeries& one : series)
    for (const PlotSeries::Point& point : one.points)
      if (is_finite(point)) across.include(point.x), up.include(point.y);
  if (across.low > across.high || columns == 0 || rows == 0) return {};
  std::vector<std::string> grid(rows, std::string(columns, ' '));
  for (const PlotSeries& one : series)
    for (const PlotSeries::Point& point : one.points)
      if (is_finite(point))
        grid[rows - 1 - up.cell(point.y, rows)][across.cell(point.x, columns)] = one.mark;
  const std::string top = fmt::format("{:.3g}", up.high), bottom = fmt::format("{:.3g}", up.low);
  const std::size_t margin = std::max(top.size(), bottom.size());
  std::string text;
  for (std::size_t row = 0; row < rows; ++row) {
    const std::string label = row == 0 ? top : row + 1 == rows ? bottom : std::string();
    std::string line = fmt::format("{:>{}} |{}", label, margin, grid[row]);
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + '\n';
  }
  const std::string left = fmt::format("{:g}", across.low),
                    right = fmt::format("{:g}", across.high);
  const std::size_t gap = columns > left.size() ? columns - left.size() : 1;
  return text + fmt::format("{:>{}}  {}{:>{}}\n", "", margin, left, right, gap);
}

}  // namespace trainyard
