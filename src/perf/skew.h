// Which models suffer when their workers are spread over machines: those with one tensor that is
// more than half of the model, so that its transfer cannot be balanced or overlapped. The criterion
// "largest tensor over half" is ours; Tiresias (NSDI'19) profiles messages and calls a model skewed
// by its largest tensor. Tensor sizes: the catalogue's `largest_tensor`.
#pragma once

#include <string_view>

namespace trainyard {

/// As a part of the model; 0 for a model that is not in the built-in catalogue.
double largest_tensor(std::string_view model);
/// False for a model that is not in the built-in catalogue.
bool is_skewed(std::string_view model);

}  // namespace trainyard
