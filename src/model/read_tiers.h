// The tiers as the [network] table of a cluster file describes them (tiers.h has an example).
#pragma once

#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/toml_table.h"
#include "model/tiers.h"

namespace trainyard {

/// default_tiers() for null.
Expected<std::vector<Tier>> read_tiers(const toml::table* network, std::string_view origin);

}  // namespace trainyard
