// Findings in rows and columns, as the terminal, Markdown and HTML all show them.
#pragma once

#include "study/report/summary.h"
#include "study/reproduce/findings.h"

namespace trainyard {

/// A row a claim: the paper's number, ours, and whether it holds.
SummaryTable claims_table(const Findings& findings, bool with_source);

/// Means with their intervals.
SummaryTable table_of(const TableFinding& table, const Extent& extent);

/// How to read the numbers: means over so many seeds, with intervals unless it is one.
std::string interval_note(const Extent& extent);

}  // namespace trainyard
