// What every HTML report is made of: one page that needs nothing else, no other files and no
// network. For reading on a screen, light or dark, for printing, and for sending to someone.
#pragma once

#include <string>
#include <string_view>

#include "study/report/plot.h"
#include "study/report/summary.h"

namespace trainyard {

/// The whole document. `title` is text, `body` is HTML.
std::string html_page(std::string_view title, std::string_view body);

/// One entry of a <dl class="facts">: a term, and HTML that tells of it.
std::string html_fact(std::string_view term, std::string_view html);

std::string html_figure(const Chart& chart, std::string_view caption);

/// Rows of a series have its colour and are brought out together with its line in the charts.
enum class RowStyle { plain, series };

/// The table with its note below; the best of each column stands out.
std::string html_table(const SummaryTable& table, RowStyle style);

}  // namespace trainyard
