// A comparison as one HTML file that needs nothing else: no other files, no network. For reading on
// a screen, light or dark, for printing, and for sending to someone.
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
