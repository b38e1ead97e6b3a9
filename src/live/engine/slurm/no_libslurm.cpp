// In the place of libslurm.cpp where there is no libslurm to build it with.
#include "live/engine/slurm/libslurm.h"

namespace trainyard {

std::string libslurm_version() {
  return {};
}

Expected<std::unique_ptr<SlurmController>> open_libslurm(const std::string& /*partition*/) {
  return fail(
      "this trainyard was built without libslurm, so it cannot steer Slurm: install libslurm-dev "
      "and build it again (./yard build)");
}

}  // namespace trainyard
