// What a study found: its measures over the seeds, and of each claim whether it holds.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/stats.h"
#include "study/reproduce/plan.h"
#include "study/study.h"

namespace trainyard {

struct ClaimFinding {
  Claim claim;
  Quantity quantity;
  std::string condition;  // where it was taken
  Interval ours;          // over the seeds; NaN when it is not defined
  bool holds;             // the mean meets the paper's number in the claimed direction
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
  TableFinding table;                    // a row a value, a column a measure
  std::vector<std::optional<double>> x;  // each value as a number, where it is one
  bool x_is_time;                        // then in seconds
};

struct Findings {
  const Study* study;
  bool quick;
  Extent extent;
  Condition base;  // with the number of jobs that were run
  std::size_t runs;
  std::vector<ClaimFinding> claims;  // in the study's order, as all that follows
  std::vector<TableFinding> tables;
  std::vector<SweepFinding> sweeps;
  std::vector<std::string> warnings;  // what may mislead a reader of the numbers

  /// What a person would type to see this again.
  [[nodiscard]] std::string command() const;
};

/// `results` are those of the plan's runs, in its order.
Findings evaluate(const Study& study, const StudyPlan& plan, const std::vector<Metrics>& results);

}  // namespace trainyard
