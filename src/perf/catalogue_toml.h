// The models and kinds of GPU that a TOML file describes (catalogue.h has an example).
#pragma once

#include <string_view>
#include <vector>

#include "base/error.h"
#include "perf/catalogue.h"

namespace trainyard {

struct CatalogueFile {
  std::vector<ModelProfile> models;
  std::vector<KindFactor> kinds;
};

/// `origin` names the text in errors, and is the source of figures without one.
Expected<CatalogueFile> parse_catalogue_toml(std::string_view text, std::string_view origin);

}  // namespace trainyard
