#include "study/studies.h"

namespace trainyard {

std::span<const Study> studies() {
  static const std::vector<Study> all{fitgpp_study(), dally_study(), xion_study()};
  return all;
}

}  // namespace trainyard
