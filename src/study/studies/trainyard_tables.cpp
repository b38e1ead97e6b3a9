// What came out of the study of our own policy: what it loses, before all else.
#include <algorithm>
#include <array>
#include <cmath>

#include "study/reproduce/findings.h"
#include "study/studies/trainyard.h"

namespace trainyard {
namespace {

using namespace trainyard_study_words;

const SweepFinding* find_sweep(const Findings& findings, const std::string& title) {
  const auto found = std::ranges::find(findings.sweeps, title,
                                       [](const SweepFinding& sweep) { return sweep.table.title; });
  return found == findings.sweeps.end() ? nullptr : &*found;
}

/// Behind the name of a condition in which pauses are free.
std::string_view mark_of(const SweepFinding& sweep, std::size_t row) {
  return sweep.pause_takes_s[row] == 0 ? " (free pauses)" : "";
}

/// Sweeps over what may be known, with the metrics that are their columns.
struct Judged {
  const SweepFinding* sweep;
  const std::vector<Metric>* metrics;
};

std::vector<Judged> judged(const Findings& findings) {
  std::vector<Judged> all;
  const auto add = [&](const std::string& name, const std::vector<Metric>& metrics) {
    for (const std::string& known : kKnown)
      if (const SweepFinding* sweep = find_sweep(findings, title_of(name, known)); sweep != nullptr)
        all.push_back({sweep, &metrics});
  };
  add(kRivals, kRivalMetrics);
  add(kStarvation, kStarvationMetrics);
  for (const Part& part : parts()) add(part.name, part.metrics);
  return all;
}

/// The lower end of the interval.
double least(const Interval& ratio) {
  return ratio.mean - ratio.half_width;
}

/// Worse by more than the interval, the worst first.
TableFinding losses(const Findings& findings) {
  struct Loss {
    double times;  // what was allowed
    TableFinding::Row row;
  };
  std::vector<Loss> all;
  for (const auto& [sweep, metrics] : judged(findings))
    for (std::size_t r = 0; r < sweep->table.rows.size(); ++r)
      for (std::size_t c = 0; c < metrics->size(); ++c) {
        const auto& [name, values] = sweep->table.rows[r];
        if (const double limit = (*metrics)[c].limit; least(values[c]) > limit)
          all.push_back({least(values[c]) / limit,
                         {fmt::format("{}; {}{}; {}", sweep->table.title, name, mark_of(*sweep, r),
                                      sweep->table.columns[c].title),
                          {values[c]}}});
      }
  std::ranges::stable_sort(all, std::greater{}, &Loss::times);
  TableFinding table{"What it loses", "where", {{"ratio", Quantity::ratio}}, {}};
  for (Loss& loss : all) table.rows.push_back(std::move(loss.row));
  if (all.empty()) table.rows.push_back({"nothing", {{std::nan(""), 0}}});
  return table;
}

/// How often it wins and loses, by study and knowledge. Where pauses are free nothing is won.
TableFinding counts(const Findings& findings) {
  using enum Quantity;
  TableFinding table{"What it wins",
                     "study and what is known of times",
                     {{"ratios", count},
                      {"below 1", count},
                      {"so by more than the interval", count},
                      {"above 1 by more than the interval", count},
                      {"geometric mean", ratio},
                      {"the highest", ratio}},
                     {}};
  for (const auto& [sweep, metrics] : judged(findings)) {
    if (metrics == &kStarvationMetrics || metrics == &kRivalMetrics) continue;
    std::array<double, 4> counted{};
    double logarithms = 0;
    Interval highest;
    for (std::size_t r = 0; r < sweep->table.rows.size(); ++r)
      for (const Interval& value : sweep->table.rows[r].values) {
        if (!(value.mean > 0) || sweep->pause_takes_s[r] == 0) continue;
        counted[0] += 1;
        counted[1] += value.mean < 1 ? 1 : 0;
        counted[2] += value.mean + value.half_width < 1 ? 1 : 0;
        counted[3] += least(value) > 1 ? 1 : 0;
        logarithms += std::log(value.mean);
        if (value.mean > highest.mean) highest = value;
      }
    TableFinding::Row& row = table.rows.emplace_back(TableFinding::Row{sweep->table.title, {}});
    for (const double number : counted) row.values.push_back({number, 0});
    row.values.push_back({std::exp(logarithms / counted[0]), 0});
    row.values.push_back(highest);
  }
  return table;
}

/// A row for each metric of each study. A column is the base condition of the part's sweep with
/// that knowledge, or where there is a title, the row of that name in the part's sweep with the
/// title.
TableFinding at_base(const Findings& findings, const std::string& heading,
                     const std::vector<std::string>& columns, const std::string& title) {
  TableFinding table{heading, "study: metric", {}, {}};
  for (const std::string& column : columns) table.columns.push_back({column, Quantity::ratio});
  const auto value = [&](const Part& part, std::size_t metric, const std::string& column) {
    const SweepFinding* sweep = find_sweep(
        findings, title.empty() ? title_of(part.name, column) : title_of(title, part.name));
    if (sweep == nullptr) return Interval{std::nan(""), 0};
    const auto row = std::ranges::find(sweep->table.rows, title.empty() ? "base" : column,
                                       &TableFinding::Row::name);
    return row->values[metric];
  };
  for (const Part& part : parts())
    for (std::size_t m = 0; m < part.metrics.size(); ++m) {
      TableFinding::Row row{fmt::format("{}: {}", part.name, part.metrics[m].what), {}};
      for (const std::string& column : columns) row.values.push_back(value(part, m, column));
      const auto is_there = [](const Interval& one) { return std::isfinite(one.mean); };
      if (std::ranges::any_of(row.values, is_there)) table.rows.push_back(std::move(row));
    }
  return table;
}

/// The names of a part's rows; the same for all parts.
std::vector<std::string> rows_of(const Findings& findings, const std::string& title) {
  std::vector<std::string> names;
  for (const Part& part : parts())
    if (const SweepFinding* sweep = find_sweep(findings, title_of(title, part.name));
        sweep != nullptr && names.empty())
      for (const TableFinding::Row& row : sweep->table.rows) names.push_back(row.name);
  return names;
}

}  // namespace

std::vector<TableFinding> tables_of_trainyard(const Findings& findings) {
  std::vector<TableFinding> all{
      losses(findings),
      at_base(findings, "trainyard at the base conditions, by what is known of times", kKnown, ""),
      at_base(findings, "Other systems at the base conditions, exact times",
              rows_of(findings, kSystems), kSystems),
      counts(findings),
      at_base(findings, "trainyard without a rule, at the base conditions, exact times",
              rows_of(findings, kAblations), kAblations)};
  std::erase_if(all, [](const TableFinding& table) { return table.rows.empty(); });
  return all;
}

namespace {

std::string on_counts(const Findings& findings) {
  double ratios = 0, below = 0, above = 0;
  for (const TableFinding::Row& row : counts(findings).rows) {
    ratios += row.values[0].mean;
    below += row.values[1].mean;
    above += row.values[3].mean;
  }
  return fmt::format(
      "Of {} ratios, {} are below 1, and {} are above it by more than the interval; where there is "
      "no difference, one in 40 is so by chance.",
      ratios, below, above);
}

/// What becomes worst, and what best, when a rule is taken away.
std::string on_rules(const Findings& findings) {
  const TableFinding rules = at_base(findings, "", rows_of(findings, kAblations), kAblations);
  std::string text = "Ratios without a rule over those with all, the highest and the lowest: ";
  for (std::size_t c = 1; c < rules.columns.size(); ++c) {
    const auto change = [&](const TableFinding::Row& row) {
      return row.values[c].mean / row.values[0].mean;
    };
    const auto [low, high] = std::ranges::minmax_element(rules.rows, {}, change);
    text += fmt::format("{}{} {:.2f} ({}) and {:.2f} ({})", c == 1 ? "" : "; ",
                        rules.columns[c].title, change(*high), high->name, change(*low), low->name);
  }
  return text + ".";
}

}  // namespace

std::vector<std::string> discuss_trainyard(const Findings& findings) {
  return {on_counts(findings), on_rules(findings)};
}

}  // namespace trainyard
