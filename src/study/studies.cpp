#include "study/studies.h"

namespace trainyard {

std::span<const Study> studies() {
  static const std::vector<Study> all{fitgpp_study(),    dally_study(),   xion_study(),
                                      lwf_study(),       jpas_study(),    market_study(),
                                      trainyard_study(), forecast_study()};
  return all;
}

}  // namespace trainyard
