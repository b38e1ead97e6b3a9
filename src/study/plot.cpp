#include "study/plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

#include "study/markup.h"

namespace trainyard {
namespace {

constexpr double kLeft = 54, kRight = 16, kTop = 26, kBottom = 46;
constexpr double kLegendRow = 18, kLegendLine = 26, kLegendText = 32;
constexpr double kCharacter = 6.3;  // about the width of one, at the size of the legend
constexpr double kTickRoom = 42;    // what the label of a tick takes on the x axis
constexpr double kTickHeight = 40;  // and between ticks of the y axis
constexpr std::size_t kStyles = 8;

struct Range {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();
  bool has_zero = false;  // of a logarithmic axis
};

/// The ends of the axis for its values: never empty, positive for a logarithmic one.
Range fitted(const Axis& axis, Range range) {
  const bool log = axis.scale == Scale::log;
  if (!(range.low <= range.high)) range.low = log ? 1 : 0, range.high = log ? 10 : 1;
  if (axis.low) range.low = *axis.low;
  if (axis.high) range.high = *axis.high;
  if (log) range.low = std::max(range.low, range.high * std::pow(10, -kMostDecades));
  if (range.low < range.high) return range;
  if (log) return {range.low / 2, range.low * 2, range.has_zero};
  return {range.low, range.low + std::max(1.0, std::abs(range.low)), range.has_zero};
}

std::vector<Point> finite(std::vector<Point> points) {
  std::erase_if(points, [](const Point& p) { return !std::isfinite(p.x) || !std::isfinite(p.y); });
  return points;
}

/// What a series covers: its points and the edges of its band.
std::vector<Point> extent(const Series& series) {
  std::vector<Point> points = finite(series.points);
  for (const Band& band : series.band) {
    points.push_back({band.x, band.low});
    points.push_back({band.x, band.high});
  }
  return points;
}

Range range_of(const Chart& chart, const Axis& axis, double Point::*coordinate) {
  Range range;
  for (const Series& series : chart.series) {
    for (const Point& point : extent(series)) {
      const double value = point.*coordinate;
      if (axis.scale == Scale::log && value <= 0) {
        range.has_zero = true;
        continue;
      }
      range.low = std::min(range.low, value);
      range.high = std::max(range.high, value);
    }
  }
  return fitted(axis, range);
}

/// Cut to what fits into `pixels`, at a whole UTF-8 character.
std::string shortened(const std::string& text, double pixels) {
  auto most = static_cast<std::size_t>(pixels / kCharacter);
  if (text.size() <= most) return text;
  while (most > 0 && (static_cast<unsigned char>(text[most]) & 0xC0) == 0x80) --most;
  return text.substr(0, most) + "…";
}

struct LegendEntry {
  std::string text;
  double x;
  std::size_t row;
};

/// From left to right, then on the next row.
std::vector<LegendEntry> lay_out_legend(const Chart& chart) {
  constexpr double kBetween = 14;
  std::vector<LegendEntry> entries;
  double x = 0;
  std::size_t row = 0;
  const double room = chart.width - kLeft - kRight;
  for (const Series& series : chart.series) {
    const std::string text = shortened(series.name, room - kLegendText);
    const double width = kLegendText + kCharacter * static_cast<double>(text.size());
    if (x > 0 && x + width > room) x = 0, ++row;
    entries.push_back({text, x, row});
    x += width + kBetween;
  }
  return entries;
}

/// Draws a chart piece by piece into `svg`.
class Drawing {
 public:
  explicit Drawing(const Chart& chart)
      : chart_(chart),
        legend_(chart.legend ? lay_out_legend(chart) : std::vector<LegendEntry>{}),
        top_(kTop +
             kLegendRow * (legend_.empty() ? 0.0 : static_cast<double>(legend_.back().row + 1))),
        bottom_(top_ + chart.plot_height),
        range_x_(range_of(chart, chart.x, &Point::x)),
        range_y_(range_of(chart, chart.y, &Point::y)),
        x_(chart.x.scale, range_x_.low, range_x_.high, kLeft, chart.width - kRight,
           range_x_.has_zero),
        y_(chart.y.scale, range_y_.low, range_y_.high, bottom_, top_, range_y_.has_zero) {}

  std::string draw() {
    add("<svg class=\"plot\" role=\"img\" aria-label=\"{}\" viewBox=\"0 0 {:g} {:g}\">\n",
        escaped(chart_.title), chart_.width, bottom_ + kBottom);
    add("<text class=\"title\" x=\"{:g}\" y=\"14\">{}</text>\n", kLeft,
        escaped(shortened(chart_.title, chart_.width - kLeft - kRight)));
    draw_legend();
    draw_y_axis();
    draw_x_axis();
    for (const Series& series : chart_.series) draw_series(series);
    svg_ += "</svg>\n";
    return std::move(svg_);
  }

 private:
  template <class... Args>
  void add(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(svg_), format, std::forward<Args>(args)...);
  }

  void draw_legend() {
    for (std::size_t i = 0; i < legend_.size(); ++i) {
      const Series& series = chart_.series[i];
      const double x = kLeft + legend_[i].x;
      const double y = kTop + kLegendRow * static_cast<double>(legend_[i].row) + 3;
      add("<g class=\"{}\" data-series=\"{}\"><path class=\"line\" d=\"M{:.1f} {:.1f}h{:g}\"/>",
          series_class(series.style), escaped(series.name), x, y, kLegendLine);
      add("<text x=\"{:.1f}\" y=\"{:.1f}\">{}<title>{}</title></text></g>\n", x + kLegendText,
          y + 4, escaped(legend_[i].text), escaped(series.name));
    }
  }

  [[nodiscard]] std::vector<Tick> ticks(const Axis& axis, const Range& range, double pixels,
                                        double room) const {
    if (axis.scale == Scale::log) return log_ticks(range.low, range.high, room / pixels, axis.unit);
    const auto most = static_cast<std::size_t>(std::max(2.0, pixels / room));
    return linear_ticks(range.low, range.high, most, axis.unit);
  }

  void draw_y_tick(double y, const std::string& label) {
    add("<path class=\"grid\" d=\"M{:g} {:.1f}H{:g}\"/>", kLeft, y, chart_.width - kRight);
    add("<text class=\"tick\" x=\"{:g}\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>\n", kLeft - 6,
        y + 4, escaped(label));
  }

  void draw_y_axis() {
    for (const Tick& tick : ticks(chart_.y, range_y_, chart_.plot_height, kTickHeight))
      draw_y_tick(y_(tick.at), tick.label);
    if (y_.has_zero_strip()) draw_y_tick(y_.zero_px(), "0");
    if (chart_.y.label.empty()) return;
    add("<text class=\"label\" transform=\"translate(12 {:.1f}) rotate(-90)\" "
        "text-anchor=\"middle\">{}</text>\n",
        (top_ + bottom_) / 2, escaped(chart_.y.label));
  }

  void draw_x_tick(double x, const std::string& label) {
    add("<path class=\"grid\" d=\"M{0:.1f} {1:.1f}V{2:.1f}\"/>", x, top_, bottom_);
    add("<text class=\"tick\" x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{}</text>\n", x,
        bottom_ + 16, escaped(label));
  }

  void draw_x_axis() {
    const double right = chart_.width - kRight;
    for (const Tick& tick : ticks(chart_.x, range_x_, right - x_.from_px(), kTickRoom)) {
      const double x = x_(tick.at);
      const bool meets_zero = x_.has_zero_strip() && x - x_.zero_px() < kTickRoom / 2;
      if (!meets_zero) draw_x_tick(x, tick.label);
    }
    if (x_.has_zero_strip()) {
      draw_x_tick(x_.zero_px(), "0");
      const double middle = (x_.zero_px() + x_.from_px()) / 2;
      add("<path class=\"axis\" d=\"M{0:.1f} {2:.1f}H{3:.1f}m-2 5l4 -10m2 10l4 -10m-2 "
          "5H{1:.1f}\"/>\n",
          kLeft, right, bottom_, middle);
    } else {
      add("<path class=\"axis\" d=\"M{:.1f} {:.1f}H{:.1f}\"/>\n", kLeft, bottom_, right);
    }
    add("<text class=\"label\" x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{}</text>\n",
        (kLeft + right) / 2, bottom_ + 36, escaped(chart_.x.label));
  }

  void draw_series(const Series& series) {
    const std::vector<Point> points = finite(series.points);
    if (points.empty()) return;
    std::string path;
    for (const Point& point : points)
      fmt::format_to(std::back_inserter(path), "{}{:.1f} {:.1f}", path.empty() ? 'M' : 'L',
                     x_(point.x), y_(point.y));
    const std::string name = escaped(series.name);
    add("<g class=\"{}\" data-series=\"{}\">", series_class(series.style), name);
    if (chart_.filled)
      add("<path class=\"area\" d=\"{}V{:.1f}H{:.1f}Z\"/>", path, bottom_, x_(points.front().x));
    draw_band(series.band);
    add("<path class=\"line\" d=\"{}\"/>", path);
    add("<path class=\"reach\" d=\"{}\"><title>{}</title></path></g>\n", path, name);
  }

  /// Along its upper edge and back along the lower.
  void draw_band(const std::vector<Band>& band) {
    if (band.empty()) return;
    std::string path;
    const auto to = [&](double x, double y) {
      fmt::format_to(std::back_inserter(path), "{}{:.1f} {:.1f}", path.empty() ? 'M' : 'L', x_(x),
                     y_(y));
    };
    for (const Band& at : band) to(at.x, at.high);
    for (std::size_t i = band.size(); i-- > 0;) to(band[i].x, band[i].low);
    add("<path class=\"area\" d=\"{}Z\"/>", path);
  }

  const Chart& chart_;
  std::vector<LegendEntry> legend_;
  double top_, bottom_;
  Range range_x_, range_y_;
  Projection x_, y_;
  std::string svg_;
};

}  // namespace

/// After eight the colours come again, with other dashes.
std::string series_class(std::size_t style) {
  return fmt::format("series colour{} dash{}", style % kStyles,
                     (style + style / kStyles) % kStyles);
}

std::string to_svg(const Chart& chart) {
  return Drawing(chart).draw();
}

std::string_view plot_style() {
  // The colours of Okabe and Ito, chosen to be told apart with any kind of colour vision; yellow is
  // left out and some are darker or lighter to stand out from white and from black paper.
  return R"(.plot { width: 100%; height: auto; display: block; font-size: 12px; }
.plot text { fill: var(--text); font-family: inherit; }
.plot .title { font-weight: 600; font-size: 13px; }
.plot .tick, .plot .label { fill: var(--muted); font-size: 11px; }
.plot path { fill: none; }
.plot .grid { stroke: var(--rule); stroke-width: 1; }
.plot .axis { stroke: var(--muted); stroke-width: 1; }
.plot .series { transition: opacity .12s; }
.plot .series.dim { opacity: .15; }
.plot .line { stroke: var(--colour); stroke-width: 2; stroke-linejoin: round; }
.plot .area { fill: var(--colour); fill-opacity: .18; }
.plot .reach { stroke: transparent; stroke-width: 12; pointer-events: stroke; }
.colour0 { --colour: #0072b2; }
.colour1 { --colour: #d55e00; }
.plot .dash1 .line { stroke-dasharray: 7 3; }
.colour2 { --colour: #007f5c; }
.plot .dash2 .line { stroke-dasharray: 2 2.5; }
.colour3 { --colour: #b5508a; }
.plot .dash3 .line { stroke-dasharray: 9 3 2 3; }
.colour4 { --colour: #c98a00; }
.plot .dash4 .line { stroke-dasharray: 14 3; }
.colour5 { --colour: #3fa0d8; }
.plot .dash5 .line { stroke-dasharray: 4 2; }
.colour6 { --colour: #444444; }
.plot .dash6 .line { stroke-dasharray: 1 2; }
.colour7 { --colour: #7a5230; }
.plot .dash7 .line { stroke-dasharray: 9 3 2 3 2 3; }
@media screen and (prefers-color-scheme: dark) {
  .colour0 { --colour: #4ba6e0; } .colour1 { --colour: #f08a3c; } .colour2 { --colour: #2fbf95; }
  .colour3 { --colour: #dd8fbc; } .colour4 { --colour: #e6b422; } .colour5 { --colour: #8fd0f7; }
  .colour6 { --colour: #c8c8c8; } .colour7 { --colour: #c09a72; }
}
)";
}

}  // namespace trainyard
