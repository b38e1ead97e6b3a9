#include "perf/skew.h"

#include "perf/catalogue.h"

namespace trainyard {

double largest_tensor(std::string_view model) {
  const ModelProfile* profile = Catalogue::builtin().find(model);
  return profile == nullptr ? 0 : profile->largest_tensor.value;
}

bool is_skewed(std::string_view model) {
  const ModelProfile* profile = Catalogue::builtin().find(model);
  return profile != nullptr && profile->skewed();
}

}  // namespace trainyard
