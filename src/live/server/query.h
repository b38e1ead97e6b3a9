// The texts of a request's path and parameters as values.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "base/error.h"
#include "live/service/service.h"

namespace trainyard {

/// Digits only, from `low` to `high`.
Expected<std::int64_t> parse_digits(std::string_view text, std::int64_t low, std::int64_t high);

using Query = std::multimap<std::string, std::string>;

/// The parameter's value, or `otherwise` when it is not given.
Expected<std::int64_t> whole_parameter(const Query& query, const std::string& name,
                                       std::int64_t low, std::int64_t high, std::int64_t otherwise);
/// true, 1, false, 0; or only its name, which is true.
Expected<bool> switch_parameter(const Query& query, const std::string& name);

/// user, name, state, class, array, fold, before, limit.
Expected<JobFilter> job_filter(const Query& query);

}  // namespace trainyard
