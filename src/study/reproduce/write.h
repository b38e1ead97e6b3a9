// Findings for people and scripts. None of it has a wall-clock time: the same study gives the same
// bytes.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>

#include "study/reproduce/findings.h"

namespace trainyard {

/// docs/schema/study.json has the shape, docs/output.md tells each field.
nlohmann::ordered_json to_json(const Findings& findings);

/// The claims, then the tables of the base condition.
std::string to_terminal_text(const Findings& findings, bool terminal);

/// One table of the claims of several studies.
std::string claims_to_terminal_text(std::span<const Findings> all, bool terminal);
std::string claims_to_markdown(std::span<const Findings> all);
/// How many of them have which verdict, for docs/studies/README.md.
std::string tally_to_markdown(std::span<const Findings> all);

/// Everything but the plots, for docs/studies/.
std::string to_markdown(const Findings& findings);

/// Everything, as one page (study/report/page.h).
std::string to_html(const Findings& findings);

}  // namespace trainyard
