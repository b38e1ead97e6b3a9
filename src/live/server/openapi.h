// The API described in OpenAPI 3, made from the table of routes.
#pragma once

#include <nlohmann/json_fwd.hpp>

namespace trainyard {

nlohmann::json openapi_document();

}  // namespace trainyard
