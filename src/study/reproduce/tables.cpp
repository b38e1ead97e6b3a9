#include "study/reproduce/tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace trainyard {
namespace {

constexpr std::string_view kUndefined = "-";

std::string mean_text(const Interval& value, Quantity quantity, bool with_interval) {
  return std::isfinite(value.mean) ? to_text(value, quantity, with_interval)
                                   : std::string(kUndefined);
}

std::string paper_text(const ClaimFinding& found) {
  return fmt::format("{} {}", found.claim.direction == Direction::at_least ? "≥" : "≤",
                     to_text({found.claim.paper, 0}, found.quantity, false));
}

}  // namespace

SummaryTable claims_table(const Findings& findings, bool with_source) {
  const bool any_elsewhere = std::ranges::any_of(findings.claims, [](const ClaimFinding& found) {
    return found.claim.taken_at != TakenAt::base;
  });
  SummaryTable table;
  table.header = {"claim", "paper", "ours", "95% interval", "holds"};
  if (any_elsewhere) table.header.emplace_back("at");
  for (const ClaimFinding& found : findings.claims) {
    const bool has_ends = findings.extent.seeds > 1 && std::isfinite(found.ours.mean);
    const std::string source = with_source ? fmt::format(" ({})", found.claim.source) : "";
    table.rows.push_back(
        {{found.claim.text + source},
         {paper_text(found)},
         {mean_text(found.ours, found.quantity, false)},
         {has_ends ? ends_text(found.ours, found.quantity) : std::string(kUndefined)},
         {found.holds ? "yes" : "no"}});
    if (any_elsewhere) table.rows.back().push_back({found.condition});
  }
  return table;
}

SummaryTable table_of(const TableFinding& found, const Extent& extent) {
  SummaryTable table;
  table.header = {found.heading};
  for (const auto& column : found.columns) table.header.push_back(column.title);
  for (const auto& row : found.rows) {
    table.rows.push_back({{row.name}});
    for (std::size_t i = 0; i < row.values.size(); ++i)
      table.rows.back().push_back(
          {mean_text(row.values[i], found.columns[i].quantity, extent.seeds > 1)});
  }
  return table;
}

std::string interval_note(const Extent& extent) {
  if (extent.seeds == 1) return "one seed: no interval can be told";
  return fmt::format("mean over {} seeds ± half of its 95% confidence interval", extent.seeds);
}

}  // namespace trainyard
