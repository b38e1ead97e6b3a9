// The policies of the registry, for the suites that hold for all of them.
#pragma once

#include <string>
#include <vector>

#include "base/random.h"

namespace trainyard {

/// Every preset, and every member in at least one composition where it has something to do.
std::vector<std::string> all_policies();

/// The line with this member, or value, instead of the one that it has.
std::string with(const std::string& line, const std::string& key, const std::string& value);

/// Rules that bite on cases that last some minutes.
std::vector<std::string> random_rules(Random& random);

}  // namespace trainyard
