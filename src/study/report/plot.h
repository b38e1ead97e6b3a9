// Line charts as SVG, for a page to hold inline. Colours are classes that plot_style() defines, so
// that a chart follows the page into dark mode and onto paper; each series has its own colour and
// its own dashes, so that it is told apart in grey and by those who see fewer colours.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "study/report/axis.h"

namespace trainyard {

struct Point {
  double x, y;
};

/// How far around a line's point its true value may lie.
struct Band {
  double x, low, high;
};

struct Series {
  std::string name;
  std::vector<Point> points;    // in order of x; those that are not finite are left out
  std::size_t style = 0;        // the same number looks the same in every chart
  std::vector<Band> band = {};  // in order of x, all finite; shaded behind the line
};

/// A value to hold the lines against, drawn across the whole chart: what a paper reports.
struct Reference {
  double y;
  std::string label;
  std::size_t style = 0;  // that of the series which it is about
};

struct Chart {
  std::string title;
  Axis x, y;
  std::vector<Series> series;
  std::vector<Reference> references = {};
  bool filled = false;  // the area under each line as well
  bool legend = true;
  double width = 440, plot_height = 250;  // the height is that of the plot without the legend
};

/// An <svg> element.
std::string to_svg(const Chart& chart);

/// The classes that give an element the colour and dashes of a style.
std::string series_class(std::size_t style);

/// CSS that the page of a chart must contain; uses the page's --text, --muted and --rule.
std::string_view plot_style();

/// A logarithmic axis spans at most this many decades; what is smaller falls onto its start.
constexpr double kMostDecades = 7;

}  // namespace trainyard
