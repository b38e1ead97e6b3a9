// Findings in rows and columns, as the terminal, Markdown and HTML all show them.
#pragma once

#include <span>

#include "study/report/summary.h"
#include "study/reproduce/findings.h"

namespace trainyard {

/// A row a claim: the number that is claimed, in a column of its own if it is none of the paper's,
/// what was measured, and what that says of it.
SummaryTable claims_table(const Findings& findings, bool with_source);
/// The claims of several studies.
SummaryTable claims_table(std::span<const Findings> all);
/// A row a study: how many of the paper's numbers, and of our own goals, have which verdict.
SummaryTable tally_table(std::span<const Findings> all);

/// Means with their intervals.
SummaryTable table_of(const TableFinding& table, const Extent& extent);

/// "98 s", or "free"; "-" for NaN.
std::string pause_text(double takes_s);

/// A sweep's, with what a pause takes in each condition.
SummaryTable table_of(const SweepFinding& sweep, const Extent& extent);

/// Of a sweep that is a map: a table for each measure, in the first of which the cells of regions
/// are marked. The first heading is that of the measure.
std::vector<SummaryTable> map_tables(const Findings& findings, const SweepFinding& sweep);

/// How to read the numbers: means over so many seeds, with intervals unless it is one.
std::string interval_note(const Extent& extent);

}  // namespace trainyard
