#include "study/report/plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <limits>
#include <numeric>

#include "study/report/markup.h"

namespace trainyard {
namespace {

constexpr double kLeft = 54, kRight = 16, kTop = 26, kBottom = 46;
constexpr double kLegendRow = 18, kLegendLine = 26, kLegendText = 32;
constexpr double kCharacter = 6.3;  // about the width of one, at the size of the legend
constexpr double kTickRoom = 42;    // what the label of a tick takes on the x axis
constexpr double kTickHeight = 40;  // and between ticks of the y axis
constexpr double kLabelHeight = 13, kLabelGap = 5;  // of what stands beside a reference line
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

void include(Range& range, const Axis& axis, double value) {
  if (axis.scale == Scale::log && value <= 0) {
    range.has_zero = true;
    return;
  }
  range.low = std::min(range.low, value);
  range.high = std::max(range.high, value);
}

Range range_of(const Chart& chart, const Axis& axis, double Point::*coordinate) {
  Range range;
  for (const Series& series : chart.series)
    for (const Point& point : extent(series)) include(range, axis, point.*coordinate);
  return range;
}

struct DrawnAxis {
  std::vector<Tick> ticks;  // the first and the last stand at its ends
  Projection to_px;
};

/// From one pixel to another, with ticks at least `room` apart.
DrawnAxis lay_out(const Axis& axis, const Range& data, double from_px, double to_px, double room) {
  const Range range = fitted(axis, data);
  const double pixels = std::abs(to_px - from_px);
  std::vector<Tick> ticks =
      axis.scale == Scale::log
          ? log_ticks(range.low, range.high, room / pixels, axis.unit)
          : linear_ticks(range.low, range.high,
                         static_cast<std::size_t>(std::max(3.0, pixels / room)), axis.unit);
  const Projection projection(axis.scale, ticks.front().at, ticks.back().at, from_px, to_px,
                              range.has_zero);
  return {std::move(ticks), projection};
}

DrawnAxis lay_out_x(const Chart& chart, double right) {
  return lay_out(chart.x, range_of(chart, chart.x, &Point::x), kLeft, right, kTickRoom);
}

DrawnAxis lay_out_y(const Chart& chart, double bottom, double top) {
  Range range = range_of(chart, chart.y, &Point::y);
  for (const Reference& reference : chart.references) include(range, chart.y, reference.y);
  return lay_out(chart.y, range, bottom, top, kTickHeight);
}

/// About so much, in a font that is not a narrow one.
double text_width(std::string_view utf8) {
  return kCharacter * static_cast<double>(
                          std::ranges::count_if(utf8, [](char c) { return (c & 0xC0) != 0x80; }));
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
    const double width = kLegendText + text_width(text);
    if (x > 0 && x + width > room) x = 0, ++row;
    entries.push_back({text, x, row});
    x += width + kBetween;
  }
  return entries;
}

/// Where the plot ends: labels of references stand to its right.
double right_of(const Chart& chart) {
  double labels = 0;
  for (const Reference& reference : chart.references)
    labels = std::max(labels, text_width(reference.label));
  return chart.width - std::max(kRight, kLabelGap + labels);
}

/// Where labels of lines at these heights stand: beside their lines, moved up or down where they
/// would meet each other or leave the plot.
std::vector<double> label_baselines(const std::vector<double>& lines, double highest,
                                    double lowest) {
  std::vector<std::size_t> order(lines.size());  // from the lowest line up, then down again
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::stable_sort(order, std::greater{}, [&](std::size_t i) { return lines[i]; });
  std::vector<double> baselines(lines.size());
  double limit = lowest;
  for (const std::size_t i : order) {
    baselines[i] = std::min(lines[i] + 4, limit);
    limit = baselines[i] - kLabelHeight;
  }
  limit = highest;
  std::ranges::reverse(order);
  for (const std::size_t i : order) {
    baselines[i] = std::max(baselines[i], limit);
    limit = baselines[i] + kLabelHeight;
  }
  return baselines;
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
        right_(right_of(chart)),
        x_axis_(lay_out_x(chart, right_)),
        y_axis_(lay_out_y(chart, bottom_, top_)),
        x_(x_axis_.to_px),
        y_(y_axis_.to_px) {}

  std::string draw() {
    add("<svg class=\"plot\" role=\"img\" aria-label=\"{}\" viewBox=\"0 0 {:g} {:g}\">\n",
        escaped(chart_.title), chart_.width, bottom_ + kBottom);
    add("<text class=\"title\" x=\"{:g}\" y=\"14\">{}</text>\n", kLeft,
        escaped(shortened(chart_.title, chart_.width - kLeft - kRight)));
    draw_legend();
    draw_y_axis();
    draw_x_axis();
    for (const Series& series : chart_.series) draw_series(series);
    draw_references();
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

  void draw_y_tick(double y, const std::string& label) {
    add("<path class=\"grid\" d=\"M{:g} {:.1f}H{:g}\"/>", kLeft, y, right_);
    add("<text class=\"tick\" x=\"{:g}\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>\n", kLeft - 6,
        y + 4, escaped(label));
  }

  void draw_y_axis() {
    for (const Tick& tick : y_axis_.ticks) draw_y_tick(y_(tick.at), tick.label);
    if (y_.has_zero_strip()) draw_y_tick(y_.zero_px(), "0");
    if (chart_.y.label.empty()) return;
    add("<text class=\"label\" transform=\"translate(12 {:.1f}) rotate(-90)\" "
        "text-anchor=\"middle\">{}</text>\n",
        (top_ + bottom_) / 2, escaped(chart_.y.label));
  }

  /// The label of the last one is kept within the chart.
  void draw_x_tick(double x, const std::string& label) {
    const double middle = std::min(x, chart_.width - text_width(label) / 2);
    add("<path class=\"grid\" d=\"M{0:.1f} {1:.1f}V{2:.1f}\"/>", x, top_, bottom_);
    add("<text class=\"tick\" x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{}</text>\n", middle,
        bottom_ + 16, escaped(label));
  }

  void draw_x_axis() {
    for (const Tick& tick : x_axis_.ticks) draw_x_tick(x_(tick.at), tick.label);
    if (x_.has_zero_strip()) {
      draw_x_tick(x_.zero_px(), "0");
      const double middle = (x_.zero_px() + x_.from_px()) / 2;
      add("<path class=\"axis\" d=\"M{0:.1f} {2:.1f}H{3:.1f}m-2 5l4 -10m2 10l4 -10m-2 "
          "5H{1:.1f}\"/>\n",
          kLeft, right_, bottom_, middle);
    } else {
      add("<path class=\"axis\" d=\"M{:.1f} {:.1f}H{:.1f}\"/>\n", kLeft, bottom_, right_);
    }
    add("<text class=\"label\" x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{}</text>\n",
        (kLeft + right_) / 2, bottom_ + 36, escaped(chart_.x.label));
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
    add("<path class=\"reach\" d=\"{}\"><title>{}</title></path>", path, name);
    draw_values(series.name, points);
    svg_ += "</g>\n";
  }

  /// Spots on the line that are seen, and tell their values, when the pointer is on them.
  void draw_values(const std::string& name, const std::vector<Point>& points) {
    constexpr std::size_t kMost = 40;
    const std::size_t step = (points.size() + kMost - 1) / kMost;
    for (std::size_t i = 0; i < points.size(); i += step)
      add("<circle class=\"value\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"5\"><title>{}: {}, "
          "{}</title></circle>",
          x_(points[i].x), y_(points[i].y), escaped(name), value_label(points[i].x, chart_.x.unit),
          value_label(points[i].y, chart_.y.unit));
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

  void draw_references() {
    std::vector<double> lines;
    for (const Reference& reference : chart_.references) lines.push_back(y_(reference.y));
    const std::vector<double> baselines = label_baselines(lines, top_ + 4, bottom_ + 4);
    for (std::size_t i = 0; i < lines.size(); ++i) {
      const Reference& reference = chart_.references[i];
      add("<g class=\"{} reference\"><path d=\"M{:g} {:.1f}H{:g}\"/>",
          series_class(reference.style), kLeft, lines[i], right_);
      add("<text x=\"{:g}\" y=\"{:.1f}\">{}</text></g>\n", right_ + kLabelGap, baselines[i],
          escaped(reference.label));
    }
  }

  const Chart& chart_;
  std::vector<LegendEntry> legend_;
  double top_, bottom_, right_;
  DrawnAxis x_axis_, y_axis_;
  const Projection &x_, &y_;
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
.plot .reference path { stroke: var(--colour); stroke-width: 1.25; stroke-dasharray: 1 3; }
.plot .reference text { fill: var(--colour); font-size: 11px; }
.plot .value { fill: transparent; }
.plot .value:hover { fill: var(--colour); }
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
