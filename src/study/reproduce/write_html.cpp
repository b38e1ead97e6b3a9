#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "study/report/markup.h"
#include "study/report/page.h"
#include "study/reproduce/tables.h"
#include "study/reproduce/write.h"

namespace trainyard {
namespace {

std::string html_paragraphs(const std::vector<std::string>& list) {
  std::string html;
  for (const std::string& paragraph : list) html += fmt::format("<p>{}</p>\n", escaped(paragraph));
  return html;
}

std::string code(std::string_view text) {
  return fmt::format("<code>{}</code>", escaped(text));
}

std::string facts(const Findings& findings) {
  std::string html = "<dl class=\"facts\">\n";
  html += html_fact("Paper", escaped(findings.study->paper));
  html += html_fact("Workload", code(findings.base.workload));
  html += html_fact("Network", code(findings.base.network));
  html += html_fact("A pause takes", pause_text(findings.pause_takes_s));
  if (const auto cluster = parse_study_cluster(findings.base.cluster); cluster)
    html += html_fact("Cluster", escaped(describe(*cluster)));
  for (const StudyPolicy& policy : findings.base.policies) {
    std::string text = code(policy.line);
    for (const std::string& setting : policy.settings) text += " " + code(setting);
    if (policy.pauses_are_free) text += ", whose pauses cost nothing";
    html += html_fact(escaped("Policy " + policy.label), text);
  }
  html += html_fact("Extent", fmt::format("{} jobs, {} seeds, {} runs", findings.extent.jobs,
                                          findings.extent.seeds, findings.runs));
  return html + html_fact("Command", code(findings.command())) + "</dl>\n";
}

/// Logarithmic when the positive values span more than a decade and none is negative.
Scale scale_for(const std::vector<double>& values) {
  double low = std::numeric_limits<double>::infinity(), high = 0;
  for (const double value : values) {
    if (value < 0) return Scale::linear;
    if (value > 0) low = std::min(low, value);
    high = std::max(high, value);
  }
  return high > 10 * low ? Scale::log : Scale::linear;
}

Unit unit_of(Quantity quantity) {
  if (quantity == Quantity::seconds) return Unit::seconds;
  return quantity == Quantity::share ? Unit::share : Unit::number;
}

/// One measure along the values of a sweep.
Series series_of(const SweepFinding& sweep, std::size_t column, bool with_band) {
  Series series{sweep.table.columns[column].title, {}, column};
  for (std::size_t i = 0; i < sweep.x.size(); ++i) {
    const auto [mean, half_width] = sweep.table.rows[i].values[column];
    if (!sweep.x[i] || !std::isfinite(mean)) continue;
    series.points.push_back({*sweep.x[i], mean});
    if (with_band) series.band.push_back({*sweep.x[i], mean - half_width, mean + half_width});
  }
  return series;
}

/// Whether the claim is on the conditions of this sweep, and not on another alone.
bool concerns(const Claim& claim, const SweepFinding& sweep) {
  if (claim.at.empty()) return true;
  return claim.taken_at == TakenAt::base ? claim.at.starts_with(sweep.table.heading + " = ")
                                         : sweep.table.title.starts_with(claim.at);
}

/// The line of a claim: "paper ≥ 96.6 %".
Reference reference_of(const ClaimFinding& found, std::size_t style) {
  const Interval value{found.claim.number, 0};
  const NumberFormat format(found.quantity, {&value, 1});
  return {found.claim.number,
          fmt::format("{} {} {}", found.claim.is_ours() ? "our goal" : "paper",
                      found.claim.direction == Direction::at_least ? "≥" : "≤",
                      format.with_unit(format.mean(value))),
          style};
}

/// What is claimed of the measures in a chart, each number once.
std::vector<Reference> references_of(const Findings& findings, const SweepFinding& sweep,
                                     const std::vector<Series>& series) {
  std::vector<Reference> references;
  for (const ClaimFinding& found : findings.claims) {
    const auto measure =
        std::ranges::find(findings.study->measures, found.claim.measure, &Measure::id);
    const auto line = std::ranges::find(series, measure->label, &Series::name);
    if (line == series.end() || !concerns(found.claim, sweep)) continue;
    Reference reference = reference_of(found, line->style);
    if (std::ranges::find(references, reference.label, &Reference::label) == references.end())
      references.push_back(std::move(reference));
  }
  return references;
}

/// Of the measures of one quantity, so that the axis has one unit.
Chart sweep_chart(const Findings& findings, const SweepFinding& sweep, Quantity quantity) {
  Chart chart;
  chart.title = sweep.table.title;
  std::vector<double> xs, ys;
  for (std::size_t c = 0; c < sweep.table.columns.size(); ++c)
    if (sweep.table.columns[c].quantity == quantity)
      chart.series.push_back(series_of(sweep, c, findings.extent.seeds > 1));
  chart.references = references_of(findings, sweep, chart.series);
  for (const Reference& reference : chart.references) ys.push_back(reference.y);
  for (const Series& series : chart.series) {
    for (const Point& point : series.points) xs.push_back(point.x), ys.push_back(point.y);
    for (const Band& band : series.band) ys.push_back(band.low);
  }
  chart.x = {
      sweep.table.heading, sweep.x_is_time ? Unit::seconds : Unit::number, scale_for(xs), {}, {}};
  chart.y = {"", unit_of(quantity), scale_for(ys), {}, {}};
  return chart;
}

std::string charts_of(const Findings& findings, const SweepFinding& sweep) {
  if (std::ranges::count_if(sweep.x, [](const auto& x) { return x.has_value(); }) < 2) return "";
  const int seeds = findings.extent.seeds;
  const std::string means =
      seeds > 1 ? fmt::format("Lines are means over {} seeds, shades their 95% intervals.", seeds)
                : std::string("Lines are of one seed.");
  std::string html = "<div class=\"charts\">\n";
  for (const Quantity quantity :
       {Quantity::share, Quantity::ratio, Quantity::seconds, Quantity::count})
    if (const Chart chart = sweep_chart(findings, sweep, quantity); !chart.series.empty())
      html += html_figure(
          chart, chart.references.empty() ? means : means + " Dotted lines are what is claimed.");
  return html + "</div>\n";
}

std::string sweeps(const Findings& findings) {
  std::string html;
  for (const SweepFinding& sweep : findings.sweeps)
    if (sweep.is_plain())
      html += fmt::format("<h2>{}</h2>\n", escaped(sweep.table.title)) +
              charts_of(findings, sweep) +
              html_table(table_of(sweep, findings.extent), RowStyle::plain);
  return html;
}

std::string maps(const Findings& findings) {
  std::string html;
  for (const SweepFinding& sweep : findings.sweeps) {
    if (sweep.map == nullptr) continue;
    html += fmt::format("<h2>{}</h2>\n", escaped(sweep.table.title));
    for (const SummaryTable& table : map_tables(findings, sweep))
      html += html_table(table, RowStyle::plain);
  }
  return html;
}

}  // namespace

std::string to_html(const Findings& findings) {
  const Study& study = *findings.study;
  std::string body = fmt::format("<h1>{}</h1>\n", escaped(study.title)) + facts(findings);
  body += html_paragraphs(study.summary);
  const auto add = [&](const TableFinding& found) {
    SummaryTable table = table_of(found, findings.extent);
    table.note = interval_note(findings.extent);
    body += fmt::format("<h2>{}</h2>\n", escaped(found.title)) + html_table(table, RowStyle::plain);
  };
  for (const TableFinding& found : findings.foremost) add(found);
  body += "<h2>Claims</h2>\n" + html_table(claims_table(findings, true), RowStyle::plain);
  for (const std::string& warning : findings.warnings)
    body += fmt::format("<p class=\"warning\">{}</p>\n", escaped(warning));
  body += maps(findings);
  for (const TableFinding& found : findings.tables) add(found);
  body += sweeps(findings);
  body += "<h2>What is published, and what we chose</h2>\n" + html_paragraphs(study.assumptions);
  if (study.discussion && findings.only.empty())
    body += "<h2>Discussion</h2>\n" + html_paragraphs(study.discussion(findings));
  return html_page(study.title, body);
}

}  // namespace trainyard
