// The comparison in one table, a row for each policy: what the terminal and the report show first.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "study/compare.h"
#include "study/report/quantity.h"

namespace trainyard {

struct SummaryTable {
  struct Cell {
    std::string text;         // "1.20"
    std::string spread = {};  // "± 0.05"; may be empty
    bool best = false;        // of its column, see best_of
    unsigned shade = 0;       // on a page; 0: none, 1 to 3
  };
  std::vector<std::string> header;      // with the unit, where the column has one: "JCT mean (h)"
  std::vector<std::vector<Cell>> rows;  // the first cell is the policy's name
  std::string note;                     // how to read it
};

/// A row for each policy, and one for the lower bound where the comparison has it. Columns on trial
/// and batch jobs stand apart when there are both.
SummaryTable summarize(const Comparison& comparison);

/// Aligned in columns; the best have an asterisk, and are bold as well when `terminal`.
std::string to_text(const SummaryTable& table, bool terminal);

/// The same columns, where all values are positive, as ratios to the best of each, seed by seed:
/// the evidence for what is marked as best. For two seeds or more.
SummaryTable against_the_best(const Comparison& comparison);

/// Which rows of a column are the best: the one with the least mean (the most, if that is better),
/// and any with the same values. `values` has a list for each row, all with the same seeds in the
/// same order. None is best unless the seeds, of which there are two at least, tell all others
/// apart from it. Policies that ran with one seed had the same jobs, so they are compared seed by
/// seed: another row is told apart when the 95% interval of its ratio to the best (of the
/// difference, where a value is 0) leaves out 1 (0).
std::vector<bool> best_of(std::span<const std::vector<double>> values, bool more_is_better);

/// "1.20 ± 0.05".
std::string joined(const SummaryTable::Cell& cell);

bool has_best(const SummaryTable& table);

/// What the mark of the best says, for a note: "* marks ...".
constexpr std::string_view kBestMeaning =
    "the best of a column where, compared seed by seed, all others are told apart from it";

}  // namespace trainyard
