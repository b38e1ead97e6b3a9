// The comparison in one table, a row for each policy: what the terminal and the report show first.
#pragma once

#include <string>
#include <vector>

#include "study/compare.h"

namespace trainyard {

struct SummaryTable {
  struct Cell {
    std::string text;   // "1.20 ± 0.05 h"
    bool best = false;  // of its column; none is when all are equal
  };
  std::vector<std::string> header;
  std::vector<std::vector<Cell>> rows;  // the first cell is the policy's name
  std::string note;                     // how to read it
};

/// Columns on trial and batch jobs stand apart when there are both.
SummaryTable summarize(const Comparison& comparison);

/// Aligned in columns; the best in bold when `terminal`, else with an asterisk.
std::string to_text(const SummaryTable& table, bool terminal);

enum class Quantity { seconds, share, ratio, count };

/// Three digits of the mean, in a unit of its size: "1.20 ± 0.05 h", "78.3 ± 0.4 %"; without the
/// interval when `with_interval` is false.
std::string to_text(const Interval& value, Quantity quantity, bool with_interval);

/// The ends of the interval with unit and digits of its mean: "1.15 to 1.25 h".
std::string ends_text(const Interval& value, Quantity quantity);

}  // namespace trainyard
