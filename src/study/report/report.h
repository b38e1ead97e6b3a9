// A comparison as an HTML page (study/report/page.h).
#pragma once

#include <string>

#include "base/error.h"
#include "study/compare.h"

namespace trainyard {

/// The whole page. The same comparison gives the same bytes.
std::string to_html(const Comparison& comparison);

/// Writes the page beside `path` and renames it: a reader sees the old report or the new one.
Expected<void> write_report(const Comparison& comparison, const std::string& path);

}  // namespace trainyard
