#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "study/markup.h"
#include "study/page.h"
#include "study/reproduce/tables.h"
#include "study/reproduce/write.h"

namespace trainyard {
namespace {

std::string paragraphs(const std::vector<std::string>& list) {
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
  if (const auto cluster = parse_study_cluster(findings.base.cluster); cluster)
    html += html_fact("Cluster", escaped(describe(*cluster)));
  for (const StudyPolicy& policy : findings.base.policies) {
    std::string text = code(policy.line);
    for (const std::string& setting : policy.settings) text += " " + code(setting);
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

/// Of the measures of one quantity, so that the axis has one unit.
Chart sweep_chart(const SweepFinding& sweep, Quantity quantity, bool with_band) {
  Chart chart;
  chart.title = sweep.table.title;
  std::vector<double> xs, ys;
  for (std::size_t c = 0; c < sweep.table.columns.size(); ++c)
    if (sweep.table.columns[c].quantity == quantity)
      chart.series.push_back(series_of(sweep, c, with_band));
  for (const Series& series : chart.series) {
    for (const Point& point : series.points) xs.push_back(point.x), ys.push_back(point.y);
    for (const Band& band : series.band) ys.push_back(band.low);
  }
  chart.x = {
      sweep.table.heading, sweep.x_is_time ? Unit::seconds : Unit::number, scale_for(xs), {}, {}};
  chart.y = {"", unit_of(quantity), scale_for(ys), {}, {}};
  return chart;
}

std::string charts_of(const SweepFinding& sweep, const Extent& extent) {
  if (std::ranges::count_if(sweep.x, [](const auto& x) { return x.has_value(); }) < 2) return "";
  const std::string caption =
      extent.seeds > 1 ? fmt::format("Mean over {} seeds; shaded: its 95% interval.", extent.seeds)
                       : std::string("One seed.");
  std::string html = "<div class=\"charts\">\n";
  for (const Quantity quantity :
       {Quantity::share, Quantity::ratio, Quantity::seconds, Quantity::count})
    if (const Chart chart = sweep_chart(sweep, quantity, extent.seeds > 1); !chart.series.empty())
      html += html_figure(chart, caption);
  return html + "</div>\n";
}

std::string sweeps(const Findings& findings) {
  std::string html;
  for (const SweepFinding& sweep : findings.sweeps)
    html += fmt::format("<h2>{}</h2>\n", escaped(sweep.table.title)) +
            charts_of(sweep, findings.extent) +
            html_table(table_of(sweep.table, findings.extent), RowStyle::plain);
  return html;
}

}  // namespace

std::string to_html(const Findings& findings) {
  const Study& study = *findings.study;
  std::string body = fmt::format("<h1>{}</h1>\n", escaped(study.title)) + facts(findings);
  body += paragraphs(study.summary);
  body += "<h2>Claims</h2>\n" + html_table(claims_table(findings, true), RowStyle::plain);
  for (const std::string& warning : findings.warnings)
    body += fmt::format("<p class=\"warning\">{}</p>\n", escaped(warning));
  for (const TableFinding& found : findings.tables) {
    SummaryTable table = table_of(found, findings.extent);
    table.note = interval_note(findings.extent);
    body += fmt::format("<h2>{}</h2>\n", escaped(found.title)) + html_table(table, RowStyle::plain);
  }
  body += sweeps(findings);
  body += "<h2>What is published, and what we chose</h2>\n" + paragraphs(study.assumptions);
  if (study.discussion) body += "<h2>Discussion</h2>\n" + paragraphs(study.discussion(findings));
  return html_page(study.title, body);
}

}  // namespace trainyard
