// Numbers as people read them. All numbers of a column have one unit and the same decimals, so that
// the eye compares them without reckoning: not 59 min above 3.2 h above 12 s.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/stats.h"

namespace trainyard {

enum class Quantity { seconds, share, ratio, count };

class NumberFormat {
 public:
  /// The unit and the decimals that suit these values together; those that are not finite have no
  /// say. Times are in the largest unit in which no value is hardly anything, shares in per cent.
  NumberFormat(Quantity quantity, std::span<const Interval> values);

  /// "h", "%", or nothing.
  [[nodiscard]] std::string_view unit() const { return unit_; }
  /// "JCT mean (h)".
  [[nodiscard]] std::string heading(std::string_view title) const;

  /// "1.20"; "-" for what is not defined, as 0 over 0.
  [[nodiscard]] std::string mean(const Interval& value) const;
  /// "± 0.05"; nothing for what is not defined.
  [[nodiscard]] std::string spread(const Interval& value) const;
  /// The ends of the interval: "1.15 to 1.25".
  [[nodiscard]] std::string ends(const Interval& value) const;
  /// A text of the above with the unit behind it, where no heading names it.
  [[nodiscard]] std::string with_unit(std::string text) const;

 private:
  [[nodiscard]] std::string number(double value) const;

  double factor_ = 1;  // from the value to its unit
  std::string_view unit_;
  int decimals_ = 0;
};

/// A column of one unit, which the heading names; or, where times are so far apart that one unit
/// shows the small ones as nothing, each with its own: "0.30 s" above "3.0 h".
class ColumnFormat {
 public:
  ColumnFormat(Quantity quantity, std::span<const Interval> values);

  [[nodiscard]] std::string heading(std::string_view title) const;
  /// "1.20", or "1.20 h".
  [[nodiscard]] std::string mean(const Interval& value) const;
  /// "± 0.05", and the unit that stands behind both.
  [[nodiscard]] std::pair<std::string, std::string> mean_and_spread(const Interval& value) const;

 private:
  /// For this value.
  [[nodiscard]] NumberFormat format_for(const Interval& value) const;

  Quantity quantity_;
  NumberFormat column_;
  bool by_cell_ = false;
};

}  // namespace trainyard
