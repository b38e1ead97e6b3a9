// An axis of a chart: which values get a tick and what it says, and where on paper a value falls.
// Ticks stand at values people think in: 1, 2, 5 and their tens; for time 10 s, 1 min, 6 h, 1 d.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace trainyard {

enum class Scale { linear, log };
enum class Unit { number, share, seconds };  // a share is 0 to 1 and shown in per cent

struct Axis {
  std::string label;
  Unit unit = Unit::number;
  Scale scale = Scale::linear;
  std::optional<double> low, high;  // what it shows at least; by default the data
};

struct Tick {
  double at;
  std::string label;
};

/// The ticks of an axis that shows values from low to high, in order: the first is at or below low
/// and the last at or above high, so that an axis from the one to the other has a label at both
/// ends, and every value lies between two labels. At most `most` (> 2), equally far apart, for
/// low < high.
std::vector<Tick> linear_ticks(double low, double high, std::size_t most, Unit unit);

/// The same for 0 < low < high on a logarithmic axis, no two closer than `gap`, a share of its
/// length.
std::vector<Tick> log_ticks(double low, double high, double gap, Unit unit);

/// One value as people read it: "3.2 h", "45.5%", "1.07".
std::string value_label(double value, Unit unit);

/// Values to pixels. A logarithmic axis has no place for 0, which waiting times often are: when
/// asked for, zeros get a strip of their own at the axis' start, before the smallest value.
class Projection {
 public:
  Projection(Scale scale, double low, double high, double from_px, double to_px, bool zero_strip);

  /// Values beyond an end fall onto it.
  [[nodiscard]] double operator()(double value) const;
  [[nodiscard]] bool has_zero_strip() const { return zero_px_ != from_px_; }
  [[nodiscard]] double zero_px() const { return zero_px_; }
  /// Where the proper axis starts, after the strip for zeros.
  [[nodiscard]] double from_px() const { return from_px_; }

 private:
  Scale scale_;
  double low_, high_;
  double zero_px_, from_px_, to_px_;
};

}  // namespace trainyard
