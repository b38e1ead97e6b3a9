// Where a job's workers are: so many on this machine, so many on that one.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/ids.h"

namespace trainyard {

struct Share {
  MachineId machine = kNoMachine;
  std::int32_t workers = 0;

  bool operator==(const Share&) const = default;
};

/// A machine at most once. Reused by those who search for one, so that a search allocates nothing.
using Placement = std::vector<Share>;

inline std::int32_t workers(const Placement& placement) {
  std::int32_t sum = 0;
  for (const Share& share : placement) sum += share.workers;
  return sum;
}

}  // namespace trainyard
