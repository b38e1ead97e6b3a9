#include "study/reproduce/tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

namespace trainyard {

SummaryTable claims_table(const Findings& findings, bool with_source) {
  const bool any_elsewhere = std::ranges::any_of(findings.claims, [](const ClaimFinding& found) {
    return found.claim.taken_at != TakenAt::base;
  });
  SummaryTable table;
  table.header = {"claim", "paper", "ours", "95% interval", "holds"};
  if (any_elsewhere) table.header.emplace_back("at");
  for (const ClaimFinding& found : findings.claims) {
    const Interval paper{found.claim.paper, 0};
    const NumberFormat format(found.quantity, std::array{paper, found.ours});
    const std::string source = with_source ? fmt::format(" ({})", found.claim.source) : "";
    table.rows.push_back(
        {{found.claim.text + source},
         {fmt::format("{} {}", found.claim.direction == Direction::at_least ? "≥" : "≤",
                      format.with_unit(format.mean(paper)))},
         {format.with_unit(format.mean(found.ours))},
         {findings.extent.seeds > 1 ? format.with_unit(format.ends(found.ours)) : "-"},
         {found.holds ? "yes" : "no"}});
    if (any_elsewhere) table.rows.back().push_back({found.condition});
  }
  return table;
}

SummaryTable table_of(const TableFinding& found, const Extent& extent) {
  SummaryTable table;
  table.header = {found.heading};
  for (const auto& row : found.rows) table.rows.push_back({{row.name}});
  for (std::size_t c = 0; c < found.columns.size(); ++c) {
    std::vector<Interval> column;
    for (const auto& row : found.rows) column.push_back(row.values[c]);
    const NumberFormat format(found.columns[c].quantity, column);
    table.header.push_back(format.heading(found.columns[c].title));
    for (std::size_t r = 0; r < column.size(); ++r)
      table.rows[r].push_back(
          {format.mean(column[r]), extent.seeds > 1 ? format.spread(column[r]) : ""});
  }
  return table;
}

std::string interval_note(const Extent& extent) {
  if (extent.seeds == 1) return "One seed was run, so there are no intervals.";
  return fmt::format(
      "Numbers are means over {} seeds ± half the width of their 95% confidence intervals.",
      extent.seeds);
}

}  // namespace trainyard
