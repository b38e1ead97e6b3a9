#include "perf/skew.h"

#include "perf/catalogue.h"

namespace trainyard {

bool is_skewed(std::string_view model) {
  const ModelProfile* profile = Catalogue::builtin().find(model);
  return profile != nullptr && profile->skewed();
}

}  // namespace trainyard
