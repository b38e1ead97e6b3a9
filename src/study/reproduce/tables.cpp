#include "study/reproduce/tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

namespace trainyard {

namespace {

/// The number that is claimed, what was measured with its interval, and the verdict. Two columns
/// for the number: the paper's, and a goal of our own.
std::vector<SummaryTable::Cell> figures(const ClaimFinding& found, const Extent& extent) {
  const Interval claimed{found.claim.number, 0};
  const NumberFormat format(found.quantity, std::array{claimed, found.ours});
  const std::string number =
      fmt::format("{} {}", found.claim.direction == Direction::at_least ? "≥" : "≤",
                  format.with_unit(format.mean(claimed)));
  const bool is_point = extent.seeds == 1 || !(found.ours.half_width > 0);
  return {{found.claim.is_ours() ? "" : number},
          {found.claim.is_ours() ? number : ""},
          {format.with_unit(format.mean(found.ours))},
          {is_point ? "-" : format.with_unit(format.ends(found.ours))},
          {std::string(name(found.verdict))},
          {found.condition}};
}

void drop_column(SummaryTable& table, std::string_view title) {
  const auto column = std::ranges::find(table.header, title) - table.header.begin();
  table.header.erase(table.header.begin() + column);
  for (auto& row : table.rows) row.erase(row.begin() + column);
}

}  // namespace

SummaryTable claims_table(std::span<const Findings> all) {
  SummaryTable table;
  table.header = {"study",    "claim",        "paper",   "our goal",
                  "measured", "95% interval", "verdict", "at"};
  for (const Findings& findings : all)
    for (const ClaimFinding& found : findings.claims) {
      table.rows.push_back({{findings.study->name}, {found.claim.text}});
      for (auto& cell : figures(found, findings.extent))
        table.rows.back().push_back(std::move(cell));
    }
  return table;
}

namespace {

/// "2 hold, 1 fails"; "-" if there is no such claim.
std::string tally(const Findings& findings, bool ours) {
  using enum ClaimVerdict;
  constexpr std::array kInOrder{holds, beyond, no_worse, open, worse, fails};
  std::string text;
  for (const ClaimVerdict verdict : kInOrder) {
    const auto count = std::ranges::count_if(findings.claims, [&](const ClaimFinding& found) {
      return found.claim.is_ours() == ours && found.verdict == verdict;
    });
    if (count > 0) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, name(verdict));
  }
  return text.empty() ? "-" : text;
}

}  // namespace

SummaryTable tally_table(std::span<const Findings> all) {
  SummaryTable table;
  table.header = {"study", "the paper's numbers", "our own goals", "jobs", "seeds"};
  for (const Findings& findings : all)
    table.rows.push_back({{fmt::format("[{0}]({0}.md)", findings.study->name)},
                          {tally(findings, false)},
                          {tally(findings, true)},
                          {fmt::format("{}", findings.extent.jobs)},
                          {fmt::format("{}", findings.extent.seeds)}});
  return table;
}

SummaryTable claims_table(const Findings& findings, bool with_source) {
  SummaryTable table = claims_table({&findings, 1});
  drop_column(table, "study");
  const auto any = [&](auto which) { return std::ranges::any_of(findings.claims, which); };
  if (!any([](const ClaimFinding& found) { return found.claim.is_ours(); }))
    drop_column(table, "our goal");
  if (!any([](const ClaimFinding& found) { return found.claim.taken_at != TakenAt::base; }))
    drop_column(table, "at");
  for (std::size_t i = 0; with_source && i < findings.claims.size(); ++i)
    table.rows[i][0] = {
        fmt::format("{} ({})", findings.claims[i].claim.text, findings.claims[i].claim.source)};
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
    const bool is_spread = extent.seeds > 1 && std::ranges::any_of(column, [](const Interval& one) {
                             return one.half_width != 0;
                           });
    table.header.push_back(format.heading(found.columns[c].title));
    for (std::size_t r = 0; r < column.size(); ++r)
      table.rows[r].push_back({format.mean(column[r]), is_spread ? format.spread(column[r]) : ""});
  }
  return table;
}

std::string pause_text(double takes_s) {
  if (takes_s == 0) return "free";
  const Interval takes{takes_s, 0};
  const NumberFormat format(Quantity::seconds, {&takes, 1});
  return std::isnan(takes_s) ? "-" : format.with_unit(format.mean(takes));
}

SummaryTable table_of(const SweepFinding& sweep, const Extent& extent) {
  SummaryTable table = table_of(sweep.table, extent);
  table.header.push_back("a pause takes");
  for (std::size_t i = 0; i < table.rows.size(); ++i)
    table.rows[i].push_back({pause_text(sweep.pause_takes_s[i])});
  return table;
}

namespace {

/// Which of the map's regions a cell is in.
std::vector<std::size_t> regions_of(const Study& study, const SweepFinding& sweep,
                                    const TableFinding::Row& cell) {
  std::vector<std::size_t> in;
  for (std::size_t i = 0; i < sweep.map->regions.size(); ++i) {
    const SweepMap::Region& region = sweep.map->regions[i];
    const auto measure = std::ranges::find(study.measures, region.measure, &Measure::id);
    const auto column =
        std::ranges::find(sweep.table.columns, measure->label, &TableFinding::Column::title) -
        sweep.table.columns.begin();
    const double mean = cell.values[static_cast<std::size_t>(column)].mean;
    const bool meets =
        region.direction == Direction::at_least ? mean >= region.number : mean <= region.number;
    if (meets) in.push_back(i);
  }
  return in;
}

SummaryTable::Cell map_cell(const Findings& findings, const NumberFormat& format,
                            const Interval& value) {
  return {format.mean(value), findings.extent.seeds > 1 ? format.spread(value) : ""};
}

void mark_regions(const SweepMap& map, const std::vector<std::size_t>& regions,
                  SummaryTable::Cell& cell) {
  for (const std::size_t region : regions) {
    cell.text = fmt::format("{} {}", map.regions[region].mark, cell.text);
    cell.shade += 1U << region;
  }
}

}  // namespace

std::vector<SummaryTable> map_tables(const Findings& findings, const SweepFinding& sweep) {
  const SweepMap& map = *sweep.map;
  std::vector<SummaryTable> tables;
  for (std::size_t c = 0; c < sweep.table.columns.size(); ++c) {
    SummaryTable& table = tables.emplace_back();
    std::vector<Interval> all;
    for (const auto& cell : sweep.table.rows) all.push_back(cell.values[c]);
    const NumberFormat format(sweep.table.columns[c].quantity, all);
    table.header = {fmt::format("{}; {} down, {} across",
                                format.heading(sweep.table.columns[c].title), map.row_axis,
                                map.column_axis)};
    table.header.insert(table.header.end(), map.columns.begin(), map.columns.end());
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (i % map.columns.size() == 0) table.rows.push_back({{map.rows[i / map.columns.size()]}});
      table.rows.back().push_back(map_cell(findings, format, all[i]));
      if (c == 0)
        mark_regions(map, regions_of(*findings.study, sweep, sweep.table.rows[i]),
                     table.rows.back().back());
    }
  }
  for (const SweepMap::Region& region : map.regions)
    tables.front().note +=
        fmt::format("{}{}: {}.", tables.front().note.empty() ? "" : " ", region.mark, region.label);
  const auto [least, most] = std::ranges::minmax(sweep.pause_takes_s);
  tables.front().note +=
      fmt::format("{}A pause takes {}.", tables.front().note.empty() ? "" : " ",
                  pause_text(least) == pause_text(most)
                      ? pause_text(least)
                      : fmt::format("{} to {}", pause_text(least), pause_text(most)));
  return tables;
}

std::string interval_note(const Extent& extent) {
  if (extent.seeds == 1) return "One seed was run, so there are no intervals.";
  return fmt::format(
      "Numbers are means over {} seeds ± half the width of their 95% confidence intervals.",
      extent.seeds);
}

}  // namespace trainyard
