#include "study/report/summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <string_view>

#include "study/bound.h"

namespace trainyard {
namespace {

struct Column {
  std::string_view header;
  Quantity quantity;
  bool more_is_better;
  double (*value)(const Result&);
  double LowerBound::*bound = nullptr;  // that holds for this column
};

std::vector<Column> columns(bool both_classes) {
  using enum Quantity;
  std::vector<Column> list{
      {"JCT mean", seconds, false, [](const Result& r) { return r.all.jct_s.mean; },
       &LowerBound::mean_jct_s},
      {"JCT p50", seconds, false, [](const Result& r) { return r.all.jct_s.p50; }},
      {"JCT p95", seconds, false, [](const Result& r) { return r.all.jct_s.p95; }},
      {"wait mean", seconds, false, [](const Result& r) { return r.all.wait_s.mean; }}};
  if (both_classes) {
    list.push_back(
        {"trial slowdown p95", ratio, false, [](const Result& r) { return r.trial.slowdown.p95; }});
    list.push_back(
        {"batch slowdown p95", ratio, false, [](const Result& r) { return r.batch.slowdown.p95; }});
  } else {
    list.push_back(
        {"slowdown p95", ratio, false, [](const Result& r) { return r.all.slowdown.p95; }});
  }
  list.push_back({"utilisation", share, true, [](const Result& r) { return r.gpu_utilization; }});
  list.push_back({"preemptions", count, false,
                  [](const Result& r) { return static_cast<double>(r.preemptions); }});
  return list;
}

/// A list for each policy, each with all seeds.
std::vector<std::vector<double>> values_of(const Comparison& comparison, const Column& column) {
  std::vector<std::vector<double>> values;
  for (const PolicyRuns& policy : comparison.policies)
    values.push_back(over_seeds(policy, column.value));
  return values;
}

std::vector<Interval> means_of(std::span<const std::vector<double>> values) {
  std::vector<Interval> means;
  for (const auto& row : values) means.push_back(mean_interval(row));
  return means;
}

/// The row with the least mean, or the most.
std::size_t leader_of(std::span<const Interval> means, bool more_is_better) {
  const auto least = std::ranges::min_element(
      means, {}, [&](const Interval& value) { return more_is_better ? -value.mean : value.mean; });
  return static_cast<std::size_t>(least - means.begin());
}

/// Seed by seed, how far `a` is from `b`: the logarithm of their ratio, or the difference where a
/// value is not positive and there is no such ratio.
Interval paired(std::span<const double> a, std::span<const double> b) {
  const auto is_positive = [](double value) { return value > 0; };
  const bool by_ratio = std::ranges::all_of(a, is_positive) && std::ranges::all_of(b, is_positive);
  std::vector<double> apart;
  for (std::size_t i = 0; i < a.size(); ++i)
    apart.push_back(by_ratio ? std::log(a[i] / b[i]) : a[i] - b[i]);
  return mean_interval(apart);
}

/// The mean of the bounds on this column, if it has any.
std::optional<Interval> bound_of(const Comparison& comparison, const Column& column) {
  if (comparison.bounds.empty() || column.bound == nullptr) return {};
  std::vector<double> values;
  for (const LowerBound& bound : comparison.bounds) values.push_back(bound.*column.bound);
  return mean_interval(values);
}

void add_column(SummaryTable& table, const Comparison& comparison, const Column& column) {
  const auto values = values_of(comparison, column);
  std::vector<Interval> means = means_of(values);
  std::vector<bool> best = best_of(values, column.more_is_better);
  if (const auto bound = bound_of(comparison, column)) {
    means.push_back(*bound);
    best.push_back(false);
  }
  const ColumnFormat format(column.quantity, means);
  table.header.push_back(format.heading(column.header));
  for (std::size_t i = 0; i < means.size(); ++i) {
    auto [mean, spread] = format.mean_and_spread(means[i]);
    if (comparison.seeds.size() == 1) mean = format.mean(means[i]), spread.clear();
    table.rows[i].push_back({std::move(mean), std::move(spread), best[i]});
  }
  if (means.size() < table.rows.size()) table.rows.back().push_back({"-"});
}

void add_ratio_column(SummaryTable& table, const Comparison& comparison) {
  const Column jct = columns(false).front();
  std::vector<Interval> means = means_of(values_of(comparison, jct));
  if (const auto bound = bound_of(comparison, jct)) means.push_back(*bound);
  table.header.emplace_back("JCT ratio");
  for (std::size_t i = 0; i < means.size(); ++i)
    table.rows[i].push_back(
        {means[0].mean > 0 ? fmt::format("{:.2f}", means[i].mean / means[0].mean) : "-"});
}

/// How many times the value of the best each policy has: "1.07 (1.05 to 1.09)".
void add_paired_column(SummaryTable& table, const Comparison& comparison, const Column& column) {
  const auto values = values_of(comparison, column);
  const std::size_t leader = leader_of(means_of(values), column.more_is_better);
  const std::vector<bool> best = best_of(values, column.more_is_better);
  std::vector<Interval> logs, ratios;
  for (const auto& row : values) {
    logs.push_back(paired(row, values[leader]));
    ratios.push_back({std::exp(logs.back().mean), 0});
  }
  const NumberFormat format(Quantity::ratio, ratios);
  table.header.emplace_back(column.header);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto end = [&](int side) {
      return format.mean({std::exp(logs[i].mean + side * logs[i].half_width), 0});
    };
    table.rows[i].push_back({format.mean(ratios[i]),
                             i == leader ? "" : fmt::format("({} to {})", end(-1), end(+1)),
                             best[i]});
  }
}

bool all_positive(std::span<const std::vector<double>> values) {
  return std::ranges::all_of(values, [](const auto& row) {
    return std::ranges::all_of(row, [](double value) { return value > 0; });
  });
}

SummaryTable named_rows(const Comparison& comparison) {
  SummaryTable table;
  if (comparison.policies.empty()) return table;
  table.header.emplace_back("policy");
  for (const PolicyRuns& policy : comparison.policies) table.rows.push_back({{policy.policy}});
  return table;
}

std::string note(const Comparison& comparison) {
  const std::size_t seeds = comparison.seeds.size();
  const std::string means =
      seeds == 1 ? std::string(
                       "One seed was run: the numbers hold for exactly these jobs, and tell no "
                       "policy from another.")
                 : fmt::format(
                       "Numbers are means over {} seeds ± half the width of their 95% "
                       "confidence intervals.",
                       seeds);
  return fmt::format("{} JCT ratio is the mean JCT over that of {}.{}", means,
                     comparison.policies.front().policy,
                     comparison.bounds.empty() ? ""
                                               : " No policy can have a mean JCT below the lower "
                                                 "bound, which takes pauses as free.");
}

std::size_t display_width(std::string_view utf8) {
  return static_cast<std::size_t>(std::ranges::count_if(
      utf8, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

std::string padding(std::string_view text, std::size_t width) {
  return std::string(width - display_width(text), ' ');
}

std::vector<std::size_t> widths(const SummaryTable& table) {
  std::vector<std::size_t> result;
  for (const std::string& title : table.header) result.push_back(display_width(title));
  for (const auto& row : table.rows)
    for (std::size_t c = 0; c < row.size(); ++c)
      result[c] = std::max(result[c], display_width(joined(row[c])));
  return result;
}

}  // namespace

std::vector<bool> best_of(std::span<const std::vector<double>> values, bool more_is_better) {
  std::vector<bool> best(values.size(), false);
  if (values.empty() || values.front().size() < 2) return best;
  const auto& leader = values[leader_of(means_of(values), more_is_better)];
  for (std::size_t i = 0; i < values.size(); ++i) {
    best[i] = values[i] == leader;
    const auto [mean, half_width] = paired(values[i], leader);
    const double behind = more_is_better ? -mean : mean;
    if (!best[i] && behind <= half_width) return std::vector<bool>(values.size(), false);
  }
  const bool all_alike = std::ranges::all_of(best, std::identity{});
  return all_alike ? std::vector<bool>(values.size(), false) : best;
}

SummaryTable summarize(const Comparison& comparison) {
  SummaryTable table = named_rows(comparison);
  if (table.rows.empty()) return table;
  if (!comparison.bounds.empty()) table.rows.push_back({{std::string(kLowerBoundName)}});
  for (const Column& column : columns(has_both_classes(comparison)))
    add_column(table, comparison, column);
  add_ratio_column(table, comparison);
  table.note = note(comparison);
  return table;
}

SummaryTable against_the_best(const Comparison& comparison) {
  SummaryTable table = named_rows(comparison);
  if (table.rows.empty()) return table;
  for (const Column& column : columns(has_both_classes(comparison)))
    if (all_positive(values_of(comparison, column))) add_paired_column(table, comparison, column);
  table.note =
      "Numbers are ratios to the policy with the best mean, as geometric means over the seeds with "
      "their 95% confidence intervals. Runs with the same seed have the same jobs: a ratio taken "
      "seed by seed can be clear of 1 although the intervals above overlap.";
  return table;
}

std::string to_text(const SummaryTable& table, bool terminal) {
  const std::vector<std::size_t> width = widths(table);
  std::string text;
  for (std::size_t c = 0; c < table.header.size(); ++c) {
    const std::string pad = padding(table.header[c], width[c]);
    text += c == 0 ? table.header[c] + pad : "   " + pad + table.header[c];
  }
  text += '\n';
  for (const auto& row : table.rows) {
    text += row[0].text + padding(row[0].text, width[0]);
    for (std::size_t c = 1; c < row.size(); ++c) {
      const std::string cell = joined(row[c]);
      text += "  " + padding(cell, width[c]) + (row[c].best ? "*" : " ");
      text += row[c].best && terminal ? fmt::format("\033[1m{}\033[0m", cell) : cell;
    }
    text += '\n';
  }
  if (!table.note.empty()) text += table.note + "\n";
  return has_best(table) ? text + fmt::format("* marks {}.\n", kBestMeaning) : text;
}

std::string joined(const SummaryTable::Cell& cell) {
  return cell.spread.empty() ? cell.text : cell.text + " " + cell.spread;
}

bool has_best(const SummaryTable& table) {
  return std::ranges::any_of(table.rows, [](const auto& row) {
    return std::ranges::any_of(row, &SummaryTable::Cell::best);
  });
}

}  // namespace trainyard
