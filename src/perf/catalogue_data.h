// The built-in catalogue of models, as TOML (catalogue.h).
#pragma once

#include <string_view>

namespace trainyard {

extern const std::string_view kCatalogueData;

}  // namespace trainyard
