// Points as a drawing in text, for a terminal:
//
//   0.9 |              ..o..o
//       |        .o.o..
//       |    o..o
//       |  .
//   0.1 |o.
//        1                100
//
// A point that falls on another takes its place, so what matters most is drawn last.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace trainyard {

struct PlotSeries {
  struct Point {
    double x = 0, y = 0;
  };
  char mark = 'o';
  std::vector<Point> points = {};
};

/// So many columns and rows for the points, and the ranges of both axes beside them; "" where there
/// is no point. Points that are not finite are left out.
std::string plot(std::span<const PlotSeries> series, std::size_t columns, std::size_t rows);

}  // namespace trainyard
