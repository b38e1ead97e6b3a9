// How well the speed model predicts what Sia and Gavel measured, as a table.
#pragma once

#include <string>

#include "base/error.h"
#include "perf/catalogue.h"

namespace trainyard {

/// Reads FOLDER/sia and FOLDER/gavel/simulation_throughputs.json, whichever there are, fits each
/// model on each system, and tabulates the errors where the fit did not learn.
Expected<std::string> describe_fit(const Catalogue& catalogue, const std::string& folder);

}  // namespace trainyard
