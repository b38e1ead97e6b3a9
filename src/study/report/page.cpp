#include "study/report/page.h"

#include <fmt/format.h>

#include <cctype>

#include "study/report/markup.h"
#include "study/report/style.h"

namespace trainyard {
namespace {

std::string row_head(const std::string& text, RowStyle style, std::size_t number) {
  const std::string name = escaped(text);
  if (style == RowStyle::plain) return fmt::format("<tr><th scope=\"row\">{}</th>", name);
  return fmt::format(
      "<tr data-series=\"{0}\"><th scope=\"row\"><span class=\"swatch {1}\"></span>{0}</th>", name,
      series_class(number));
}

std::string note_of(const SummaryTable& table) {
  std::string note = table.note;
  if (has_best(table))
    note += fmt::format("{}Bold marks {}.", note.empty() ? "" : " ", kBestMeaning);
  return note.empty() ? "" : fmt::format("<p class=\"note\">{}</p>\n", escaped(note));
}

/// The interval stands below the mean, so that many columns find room.
std::string cell_html(const SummaryTable::Cell& cell) {
  constexpr std::size_t kLongestNumber = 24;  // what is longer is words, which may wrap
  std::string html = escaped(cell.text);
  if (cell.text.size() <= kLongestNumber) html = fmt::format("<span>{}</span>", html);
  if (!cell.spread.empty()) html += fmt::format("<span>{}</span>", escaped(cell.spread));
  if (cell.shade > 0) return fmt::format("<td class=\"shade{}\">{}</td>", cell.shade, html);
  return fmt::format("<td{}>{}</td>", cell.best ? " class=\"best\"" : "", html);
}

/// As it may stand in the address of a data: link.
std::string in_address(std::string_view text) {
  std::string encoded;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool is_plain =
        std::isalnum(byte) != 0 || std::string_view("-_.").find(c) != std::string_view::npos;
    encoded += is_plain ? std::string(1, c) : fmt::format("%{:02X}", byte);
  }
  return encoded;
}

/// The points of all lines, in the units of the data: a line each of "series,x,y".
std::string points_csv(const Chart& chart) {
  const auto column = [](const Axis& axis) {
    return axis.unit == Unit::seconds ? axis.label + " (s)" : axis.label;
  };
  const auto quoted_field = [](std::string text) {
    for (std::size_t at = 0; (at = text.find('"', at)) != std::string::npos; at += 2)
      text.insert(at, 1, '"');
    return '"' + text + '"';
  };
  std::string csv =
      fmt::format("series,{},{}\n", quoted_field(column(chart.x)), quoted_field(column(chart.y)));
  for (const Series& series : chart.series)
    for (const Point& point : series.points)
      csv += fmt::format("{},{:.6g},{:.6g}\n", quoted_field(series.name), point.x, point.y);
  return csv;
}

}  // namespace

std::string html_page(std::string_view title, std::string_view body) {
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n"
      "<title>{}</title>\n<style>\n{}{}</style>\n</head>\n<body>\n{}"
      "<script>\n{}</script>\n</body>\n</html>\n",
      escaped(title), kReportStyle, plot_style(), body, kReportScript);
}

std::string html_fact(std::string_view term, std::string_view html) {
  return fmt::format("<dt>{}</dt><dd>{}</dd>\n", term, html);
}

std::string html_figure(const Chart& chart, std::string_view caption) {
  return fmt::format(
      "<figure>\n{}<figcaption>{} <a download=\"{}.csv\" href=\"data:text/csv,{}\">Points as "
      "CSV</a></figcaption>\n</figure>\n",
      to_svg(chart), escaped(caption), in_address(chart.title), in_address(points_csv(chart)));
}

std::string html_table(const SummaryTable& table, RowStyle style) {
  std::string html = "<div class=\"scroll\">\n<table>\n<thead><tr>";
  for (const std::string& title : table.header)
    html += fmt::format("<th scope=\"col\">{}</th>", escaped(title));
  html += "</tr></thead>\n<tbody>\n";
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    const auto& row = table.rows[i];
    html += row_head(row[0].text, style, i);
    for (auto cell = row.begin() + 1; cell != row.end(); ++cell) html += cell_html(*cell);
    html += "</tr>\n";
  }
  return html + "</tbody>\n</table>\n</div>\n" + note_of(table);
}

}  // namespace trainyard
