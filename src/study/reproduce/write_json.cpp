#include <nlohmann/json.hpp>

#include "study/json.h"
#include "study/reproduce/write.h"

namespace trainyard {
namespace {

using nlohmann::ordered_json;

ordered_json claim_json(const ClaimFinding& found) {
  const ordered_json ours = to_json(found.ours);
  return {{"id", found.claim.id},
          {"text", found.claim.text},
          {"direction", found.claim.direction == Direction::at_least ? "at least" : "at most"},
          {"paper", found.claim.is_ours() ? ordered_json() : ordered_json(found.claim.number)},
          {"goal", found.claim.is_ours() ? ordered_json(found.claim.number) : ordered_json()},
          {"ours", ours["mean"]},
          {"low", ours["low"]},
          {"high", ours["high"]},
          {"holds", found.holds},
          {"verdict", name(found.verdict)},
          {"condition", found.condition},
          {"source", found.claim.source}};
}

ordered_json table_json(const TableFinding& found) {
  ordered_json columns = ordered_json::array(), rows = ordered_json::array();
  for (const auto& column : found.columns) columns.push_back(column.title);
  for (const auto& row : found.rows) {
    ordered_json values = ordered_json::array();
    for (const Interval& value : row.values) values.push_back(to_json(value));
    rows.push_back({{"name", row.name}, {"values", std::move(values)}});
  }
  return {{"title", found.title}, {"columns", std::move(columns)}, {"rows", std::move(rows)}};
}

}  // namespace

ordered_json to_json(const Findings& findings) {
  ordered_json seeds = ordered_json::array(), claims = ordered_json::array(),
               tables = ordered_json::array();
  for (int seed = findings.extent.first_seed; seed <= findings.extent.last_seed(); ++seed)
    seeds.push_back(seed);
  for (const ClaimFinding& claim : findings.claims) claims.push_back(claim_json(claim));
  for (const TableFinding& table : findings.foremost) tables.push_back(table_json(table));
  for (const TableFinding& table : findings.tables) tables.push_back(table_json(table));
  for (const SweepFinding& sweep : findings.sweeps) {
    tables.push_back(table_json(sweep.table));
    for (std::size_t i = 0; i < sweep.pause_takes_s.size(); ++i)
      tables.back()["rows"][i]["pause_takes_s"] = sweep.pause_takes_s[i];
  }
  return {{"study", findings.study->name},
          {"quick", findings.quick},
          {"jobs", findings.extent.jobs},
          {"seeds", std::move(seeds)},
          {"pause_takes_s", findings.pause_takes_s},
          {"claims", std::move(claims)},
          {"tables", std::move(tables)},
          {"warnings", findings.warnings}};
}

}  // namespace trainyard
