#include "study/summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>

namespace trainyard {
namespace {

struct Column {
  std::string_view header;
  Quantity quantity;
  bool more_is_better;
  double (*value)(const Result&);
};

std::vector<Column> columns(bool both_classes) {
  using enum Quantity;
  std::vector<Column> list{
      {"JCT mean", seconds, false, [](const Result& r) { return r.all.jct_s.mean; }},
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

struct Scaled {
  double factor;
  std::string_view unit;
};

Scaled scale_for(double value, Quantity quantity) {
  if (quantity == Quantity::share) return {100, " %"};
  if (quantity != Quantity::seconds) return {1, ""};
  const double s = std::abs(value);
  if (s == 0) return {1, " s"};
  if (s < 1) return {1e3, " ms"};
  if (s < 120) return {1, " s"};
  if (s < 7200) return {1.0 / 60, " min"};
  if (s < 2 * 86'400) return {1.0 / 3600, " h"};
  return {1.0 / 86'400, " d"};
}

/// As many as show three digits of the mean in its unit; none for a count that is whole.
int decimals(const Interval& value, Quantity quantity) {
  const double size = std::abs(value.mean * scale_for(value.mean, quantity).factor);
  const bool whole =
      quantity == Quantity::count && value.half_width == 0 && size == std::floor(size);
  if (whole || size == 0 || size >= 99.95) return 0;
  return size >= 9.995 ? 1 : 2;
}

void mark_best(SummaryTable& table, std::size_t column, const std::vector<double>& means,
               bool more_is_better) {
  const auto [least, most] = std::ranges::minmax(means);
  if (least == most) return;
  for (std::size_t i = 0; i < means.size(); ++i)
    table.rows[i][column].best = means[i] == (more_is_better ? most : least);
}

void add_column(SummaryTable& table, const Comparison& comparison, const Column& column) {
  std::vector<double> means;
  for (std::size_t i = 0; i < comparison.policies.size(); ++i) {
    const Interval value = over_seeds(comparison.policies[i], column.value);
    means.push_back(value.mean);
    const bool with_interval = comparison.seeds.size() > 1;
    table.rows[i].push_back({to_text(value, column.quantity, with_interval)});
  }
  table.header.emplace_back(column.header);
  mark_best(table, table.header.size() - 1, means, column.more_is_better);
}

void add_ratio_column(SummaryTable& table, const Comparison& comparison) {
  const auto mean_jct = [](const Result& r) { return r.all.jct_s.mean; };
  const double first = over_seeds(comparison.policies.front(), mean_jct).mean;
  for (std::size_t i = 0; i < comparison.policies.size(); ++i) {
    const double mean = over_seeds(comparison.policies[i], mean_jct).mean;
    table.rows[i].push_back({first > 0 ? fmt::format("{:.2f}", mean / first) : "-"});
  }
  table.header.emplace_back("JCT ratio");
}

std::string note(const Comparison& comparison) {
  std::string text;
  if (comparison.seeds.size() > 1)
    text = fmt::format("mean over {} seeds ± half of its 95% confidence interval; ",
                       comparison.seeds.size());
  return text +
         fmt::format("JCT ratio: mean JCT over that of {}", comparison.policies.front().policy);
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
      result[c] = std::max(result[c], display_width(row[c].text));
  return result;
}

}  // namespace

SummaryTable summarize(const Comparison& comparison) {
  SummaryTable table;
  if (comparison.policies.empty()) return table;
  table.header.emplace_back("policy");
  for (const PolicyRuns& policy : comparison.policies) table.rows.push_back({{policy.policy}});
  for (const Column& column : columns(has_both_classes(comparison)))
    add_column(table, comparison, column);
  add_ratio_column(table, comparison);
  table.note = note(comparison);
  return table;
}

std::string to_text(const SummaryTable& table, bool terminal) {
  const std::vector<std::size_t> width = widths(table);
  std::string text;
  bool any_best = false;
  for (std::size_t c = 0; c < table.header.size(); ++c) {
    const std::string pad = padding(table.header[c], width[c]);
    text += c == 0 ? table.header[c] + pad : "   " + pad + table.header[c];
  }
  text += '\n';
  for (const auto& row : table.rows) {
    text += row[0].text + padding(row[0].text, width[0]);
    for (std::size_t c = 1; c < row.size(); ++c) {
      const auto& [cell, best] = row[c];
      any_best = any_best || best;
      text += "  " + padding(cell, width[c]) + (best && !terminal ? "*" : " ");
      text += best && terminal ? fmt::format("\033[1m{}\033[0m", cell) : cell;
    }
    text += '\n';
  }
  if (table.note.empty()) return text;
  return text + table.note + (any_best ? (terminal ? "; bold: best" : "; *: best") : "") + "\n";
}

std::string to_text(const Interval& value, Quantity quantity, bool with_interval) {
  const Scaled scaled = scale_for(value.mean, quantity);
  const int digits = decimals(value, quantity);
  const double mean = value.mean * scaled.factor;
  if (!with_interval) return fmt::format("{:.{}f}{}", mean, digits, scaled.unit);
  return fmt::format("{:.{}f} ± {:.{}f}{}", mean, digits, value.half_width * scaled.factor, digits,
                     scaled.unit);
}

std::string ends_text(const Interval& value, Quantity quantity) {
  const Scaled scaled = scale_for(value.mean, quantity);
  const int digits = decimals(value, quantity);
  return fmt::format("{:.{}f} to {:.{}f}{}", (value.mean - value.half_width) * scaled.factor,
                     digits, (value.mean + value.half_width) * scaled.factor, digits, scaled.unit);
}

}  // namespace trainyard
