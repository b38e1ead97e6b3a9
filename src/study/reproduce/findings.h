// What a study found: its measures over the seeds, and of each claim whether it holds.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/stats.h"
#include "study/reproduce/plan.h"
#include "study/study.h"

namespace trainyard {

/// What the interval says of the number that is claimed. One of width 0, as on a trace that is the
/// same with every seed, is a point.
enum class ClaimVerdict : std::uint8_t {
  holds,   // all of it meets the number
  beyond,  // all of it is at least twice as good as what a paper published, or has the other sign:
           // it was not the same thing that was measured
  open,    // the number is within it
  fails,   // none of it meets the number, or it is not defined
  // Another test, of claims on what is so nowhere (TakenAt::nowhere), which wide intervals pass:
  no_worse,  // in no condition does the whole interval miss the number
  worse      // in some it does
};
std::string_view name(ClaimVerdict verdict);

/// Twice as good is half as much of what shall be little, or twice as much of what shall be much;
/// of a share that shall be large, half as much that is missing from the whole.
ClaimVerdict verdict_on(const Claim& claim, Quantity quantity, const Interval& measured);

struct ClaimFinding {
  Claim claim;
  Quantity quantity;
  std::string condition;  // where it was taken
  Interval ours;          // over the seeds; NaN when it is not defined
  bool holds;             // the mean meets the number in the claimed direction; of `nowhere`,
                          // whether it is no worse
  ClaimVerdict verdict;
};

/// A table of means over the seeds.
struct TableFinding {
  struct Column {
    std::string title;
    Quantity quantity;
  };
  struct Row {
    std::string name;
    std::vector<Interval> values;  // one a column
  };
  std::string title;
  std::string heading;  // of the names of rows
  std::vector<Column> columns;
  std::vector<Row> rows;
};

struct SweepFinding {
  TableFinding table;                      // a row a value, a column a measure
  std::vector<std::optional<double>> x;    // each value as a number, where it is one
  bool x_is_time;                          // then in seconds
  const SweepMap* map = nullptr;           // the study's, where it is one
  bool is_for_foremost = false;            // as the study has it
  std::vector<double> pause_takes_s = {};  // kPauseTakes in each row; NaN: nothing is simulated

  /// In a table of its own, and not as a map or in the foremost tables.
  [[nodiscard]] bool is_plain() const { return map == nullptr && !is_for_foremost; }
};

struct Findings {
  const Study* study;
  bool quick;
  Extent extent;
  StudyPolicy instead;   // with a label: its line was run for the policies with that
  std::string only;      // the beginning of the titles of the sweeps that were run; empty: all was
  bool uses_traces;      // some conditions
  Condition base;        // with the number of jobs that were run
  double pause_takes_s;  // kPauseTakes there; NaN if it was not run
  std::size_t runs;
  std::vector<ClaimFinding> claims;  // in the study's order, as all that follows, without those
                                     // of conditions that were not run
  std::vector<TableFinding> foremost;
  std::vector<TableFinding> tables;
  std::vector<SweepFinding> sweeps;
  std::vector<std::string> warnings;  // what may mislead a reader of the numbers

  /// What a person would type to see this again.
  [[nodiscard]] std::string command() const;
};

/// `results` are those of the plan's runs, in its order.
Findings evaluate(const Study& study, const StudyPlan& plan, const std::vector<Metrics>& results);

}  // namespace trainyard
